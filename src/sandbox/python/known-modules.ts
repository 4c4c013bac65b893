// Modules that a model would like to know of, best known first: in this order they are named where there is no room for all.

export const KNOWN_MODULES: readonly string[] = [
  'numpy',
  'pandas',
  'matplotlib',
  'scipy',
  'sklearn',
  'seaborn',
  'polars',
  'duckdb',
  'pyarrow',
  'statsmodels',
  'sympy',
  'networkx',
  'PIL',
  'openpyxl',
  'plotly',
  'altair',
  'bokeh',
  'torch',
  'tensorflow',
  'xgboost',
  'lightgbm',
  'cv2',
  'skimage',
  'nltk',
  'spacy',
  'shapely',
  'geopandas',
  'docx',
  'pptx',
  'pypdf',
  'reportlab',
  'xlsxwriter',
  'xlrd',
  'odf',
  'lxml',
  'bs4',
  'yaml',
  'jinja2',
  'pydantic',
  'sqlalchemy',
  'dateutil',
  'requests',
  'httpx',
  'aiohttp',
];

/** Best known first; what is not on the list keeps its order, behind it. */
export function bestKnownFirst(modules: readonly string[]): readonly string[] {
  const rank = (name: string): number => {
    const at = KNOWN_MODULES.indexOf(name);
    return at === -1 ? KNOWN_MODULES.length : at;
  };
  return [...modules].sort((one, other) => rank(one) - rank(other));
}

/** Known modules that Debian does not package, or that are of no use without a network. */
const NOT_PACKAGED: ReadonlySet<string> = new Set([
  'polars',
  'duckdb',
  'pyarrow',
  'bokeh',
  'tensorflow',
  'xgboost',
  'lightgbm',
  'spacy',
  'pptx',
  'requests',
  'httpx',
  'aiohttp',
]);

/** Modules that the user can have added to an image as Debian packages. */
export const PACKAGED_MODULES: ReadonlySet<string> = new Set(
  [...KNOWN_MODULES, 'html5lib', 'markdown', 'pytz', 'regex', 'rich', 'tabulate', 'tqdm', 'unidecode'].filter(
    (name) => !NOT_PACKAGED.has(name),
  ),
);
