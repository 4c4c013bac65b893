"""A session of llm-sandbox behind lines on stdin (openLines in place.mjs). argv[1]: its options as JSON."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from llm_sandbox import SandboxSession

AT_ONCE = 8


def say(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def client_of(options):
    if options["backend"] != "podman":
        return {}
    from podman import PodmanClient

    return {"client": PodmanClient(base_url=os.environ["CONTAINER_HOST"]), "keep_template": True}


def answer(session, line):
    asked = json.loads(line)
    try:
        result = session.run(asked["code"])
        if result.exit_code == 0:
            say({"id": asked["id"], "text": result.stdout})
        else:
            say({"id": asked["id"], "error": result.stderr or f"exit code {result.exit_code}"})
    except Exception as error:
        say({"id": asked["id"], "error": f"{type(error).__name__}: {error}"})


options = json.loads(sys.argv[1])
with (
    SandboxSession(lang="python", **options, **client_of(options)) as session,
    ThreadPoolExecutor(AT_ONCE) as pool,
):
    say({"id": 0})
    for line in sys.stdin:
        pool.submit(answer, session, line)
