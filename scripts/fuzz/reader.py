"""A server in Python, as far as it reads arguments: pydantic in its default mode, which converts.

A line of stdin is the JSON of one call's arguments; the line of stdout is what was read, without what is not
there, or null where the server would refuse the call. With "json" as argument pydantic parses the text itself.
"""

import json
import math
import sys
from typing import Dict, List, Optional

from pydantic import BaseModel

LARGEST = 1.7976931348623157e308


class Order(BaseModel):
    price: Optional[float] = None


class Arguments(BaseModel):
    amount: Optional[float] = None
    limit: Optional[int] = None
    force: Optional[bool] = None
    to: Optional[str] = None
    ids: Optional[List[str]] = None
    order: Optional[Order] = None
    tags: Optional[Dict[str, float]] = None
    max_size: Optional[float] = None


def finite(value: object) -> object:
    """JSON has no infinity, and what is no number is not there."""
    if isinstance(value, dict):
        return {name: finite(inner) for name, inner in value.items()}
    if isinstance(value, float) and math.isinf(value):
        return math.copysign(LARGEST, value)
    if isinstance(value, float) and math.isnan(value):
        return None
    return value


def read(line: str) -> object:
    try:
        if sys.argv[1:] == ["json"]:
            found = Arguments.model_validate_json(line)
        else:
            found = Arguments.model_validate(json.loads(line))
    except (ValueError, RecursionError):
        return None
    return finite(found.model_dump(exclude_none=True))


for text in sys.stdin:
    print(json.dumps(read(text)))
