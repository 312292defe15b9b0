"""How the manual is built: ``make docs``. Nothing is fetched, neither to build it nor to read it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "src")]

import lacunary

project = "lacunary"
author = copyright = "The lacunary authors"
version = release = lacunary.__version__
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinxcontrib.bibtex",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "reference",
    "results",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["README.md", "_build", "_ext", "_templates", "gallery/*"]
suppress_warnings = ["ref.python"]  # `dag` in a docstring may be the attribute of several classes
default_role = "py:obj"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
toc_object_entries_show_parents = "hide"
add_module_names = False

bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "plain"
bibtex_reference_style = "author_year"

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "lacunary"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "lacunary"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "pygments_light_style": "friendly",
    "pygments_dark_style": "github-dark",
    "search_bar_text": "Search the manual",
}
html_sidebars = {"index": [], "getting-started": [], "comparison": [], "search": []}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_copy_empty_lines = False

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "examples",
    "filename_pattern": r"\.py$",
    "copyfile_regex": "",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("pictures.scrape",),
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "thumbnail_size": (480, 320),
    "parallel": False,
}


def _without_last_blank(app: Any, name: str, source: list[str]) -> None:
    """Take away the blank line that ends the output of an example, which only the tests need."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)


def setup(app: Any) -> None:
    """Tell Sphinx."""
    app.add_lexer("csv", TextLexer)
    app.connect("source-read", _without_last_blank)
