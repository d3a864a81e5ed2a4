"""How Sphinx builds the documentation: `make docs` writes it to build/docs."""

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # for docs.builder

import grisaille  # noqa: E402

project = "Grisaille"
author = "The Grisaille founders"
version = release = grisaille.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "docs.builder.extension",
]
exclude_patterns = ["builder", "generated/examples", "generated/gallery/*.ipynb"]

# The page and everything it shows come from this folder: nothing is fetched when it is read.
html_theme = "furo"
html_title = "Grisaille"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#2f4858",
        "color-brand-content": "#2b5d80",
    },
    "dark_css_variables": {
        "color-brand-primary": "#b9c9d4",
        "color-brand-content": "#8fc1e3",
    },
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"

highlight_language = "none"  # for blocks that name no language

# Markdown. Anchors are made as code-hosting pages make them.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

# Pages that are run. An error in a cell ends the build.
nb_execution_mode = "cache"
nb_execution_cache_path = str(ROOT / "build" / "executed_pages")
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_execution_in_temp = True
nb_merge_streams = True
nb_ipywidgets_js = {}  # these would come from other hosts

# The reference. Docstrings write code in single backticks.
default_role = "code"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Columns", "params_style")]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"Array": "Array", "Flags": "Flags"}
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

sphinx_gallery_conf = {
    "examples_dirs": ["generated/examples"],
    "gallery_dirs": ["generated/gallery"],
    "filename_pattern": r".*",
    "image_scrapers": ("docs.builder.gallery.pictures",),
    "within_subsection_order": "docs.builder.gallery.FirstThenByName",
    "reset_modules": (),
    "capture_repr": (),
    "thumbnail_size": (400, 280),
    "abort_on_example_error": True,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 10**6,
    "download_all_examples": False,
}
