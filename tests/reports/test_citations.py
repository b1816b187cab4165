"""How to cite: ``CITATION.cff``, the BibTeX and the files of published numbers name the same works."""

import re
import tomllib

import pytest

import probing
from probing.reports.citations import PAPERS, RELEASED, SOFTWARE, Reference


@pytest.fixture(scope="module")
def citation(repo_root):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((repo_root / "CITATION.cff").read_text(encoding="utf-8"))


def names(authors: list[dict]) -> list[tuple[str, str]]:
    """Authors of the file as the references have them."""
    return [(one.get("given-names", ""), one.get("family-names") or one.get("alias") or one["name"]) for one in authors]


def entry(reference: Reference) -> dict[str, str]:
    """The fields of a BibTeX entry, read back."""
    return dict(re.findall(r"^  (\w+) = \{(.*)\},$", reference.bibtex, re.MULTILINE))


def test_the_citation_file_names_this_version_its_day_and_its_licence(citation):
    assert citation["cff-version"] == "1.2.0"
    assert (str(citation["version"]), str(citation["date-released"])) == (probing.__version__, RELEASED)
    assert (citation["title"], citation["license"]) == (SOFTWARE.title, SOFTWARE.field("license"))
    assert names(citation["authors"]) == list(SOFTWARE.authors)
    assert citation["message"]


def test_the_citation_file_and_the_bibtex_name_the_same_papers(citation):
    assert len(citation["references"]) == len(PAPERS)
    for listed, paper in zip(citation["references"], PAPERS, strict=True):
        fields = entry(paper)
        assert f"{{{listed['title']}}}" == fields["title"]
        assert names(listed["authors"]) == list(paper.authors)
        assert [listed["year"], listed.get("doi", ""), listed["url"]] == [
            int(fields["year"]),
            fields.get("doi", ""),
            fields["url"],
        ]
        assert listed.get("collection-title", "") == fields.get("booktitle", fields.get("howpublished", ""))
        pages = f"{listed['start']}--{listed['end']}" if "start" in listed else ""
        assert pages == fields.get("pages", "")


@pytest.mark.parametrize(
    ("name", "paper"), [("bertnesia", PAPERS[0]), ("edge-probing", PAPERS[1]), ("sentence-probing", PAPERS[2])]
)
def test_the_published_numbers_name_the_papers_as_they_are_cited(repo_root, name, paper):
    published = tomllib.loads((repo_root / "data" / "published" / f"{name}.toml").read_text(encoding="utf-8"))
    authors = [f"{given} {family}" for given, family in paper.authors]
    assert published["title"] == paper.title and published["url"] == paper.field("url")
    assert published["authors"] == f"{', '.join(authors[:-1])} and {authors[-1]}"
    assert published["venue"].endswith(f"pages {paper.field('pages').replace('--', '-')}")
