"""How to cite this software and the papers behind it, as BibTeX. See also ``CITATION.cff``."""

from dataclasses import dataclass

from probing.kernel.registry import published_at
from probing.kernel.version import __version__

#: Day of the release that ``probing.__version__`` names.
RELEASED = "2026-11-28"
#: Name of an author as (given names, family name); an organisation or a pseudonym has no given names.
Author = tuple[str, str]


@dataclass(frozen=True)
class Reference:
    """One work to cite, as a BibTeX entry; ``role`` is what this project uses it for."""

    key: str
    kind: str
    role: str
    title: str
    authors: tuple[Author, ...]
    year: int
    fields: tuple[tuple[str, str], ...]

    def field(self, name: str) -> str:
        """A further field; empty if the work has none of that name."""
        return dict(self.fields).get(name, "")

    @property
    def bibtex(self) -> str:
        """The BibTeX entry. Double braces keep the capitals of a title and keep a one-part name together."""
        authors = " and ".join(
            f"{family}, {first_name}" if first_name else f"{{{family}}}" for first_name, family in self.authors
        )
        lines = (("title", f"{{{self.title}}}"), ("author", authors), ("year", str(self.year)), *self.fields)
        return f"@{self.kind}{{{self.key},\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in lines) + "}"


_BLACKBOX = "Proceedings of the Third BlackboxNLP Workshop on Analyzing and Interpreting Neural Networks for NLP"
_ACL = "Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics"
_EMNLP = (
    "Proceedings of the 2019 Conference on Empirical Methods in Natural Language Processing and the 9th International"
    " Joint Conference on Natural Language Processing (EMNLP-IJCNLP)"
)


def _in_anthology(booktitle: str, pages: str, paper: str) -> tuple[tuple[str, str], ...]:
    """The fields of a paper of the ACL Anthology, whose DOIs and addresses end with the paper's number there."""
    return (
        ("booktitle", booktitle),
        ("publisher", "Association for Computational Linguistics"),
        ("pages", pages),
        ("doi", f"10.18653/v1/{paper}"),
        ("url", f"https://aclanthology.org/{paper}"),
    )


SOFTWARE = Reference(
    key="bertnesia_explorer",
    kind="software",
    role="This software",
    title="BERTnesia Explorer",
    authors=(("", "The BERTnesia Explorer maintainers"),),
    year=int(RELEASED[:4]),
    fields=(
        ("version", __version__),
        ("date", RELEASED),
        ("license", "Apache-2.0"),
        *(("url", address) for address in [published_at()] if address),
    ),
)
PAPERS = (
    Reference(
        key="wallat-etal-2020-bertnesia",
        kind="inproceedings",
        role="Knowledge by layer, decoding heads and forgetting",
        title="BERTnesia: Investigating the capture and forgetting of knowledge in BERT",
        authors=(("Jonas", "Wallat"), ("Jaspreet", "Singh"), ("Avishek", "Anand")),
        year=2020,
        fields=_in_anthology(_BLACKBOX, "174--183", "2020.blackboxnlp-1.17"),
    ),
    Reference(
        key="tenney-etal-2019-bert",
        kind="inproceedings",
        role="Edge probing",
        title="BERT Rediscovers the Classical NLP Pipeline",
        authors=(("Ian", "Tenney"), ("Dipanjan", "Das"), ("Ellie", "Pavlick")),
        year=2019,
        fields=_in_anthology(_ACL, "4593--4601", "P19-1452"),
    ),
    Reference(
        key="mosbach-etal-2020-interplay",
        kind="inproceedings",
        role="Fine-tuning and sentence probes",
        title=(
            "On the Interplay Between Fine-tuning and Sentence-level Probing for Linguistic Knowledge in Pre-trained"
            " Transformers"
        ),
        authors=(("Marius", "Mosbach"), ("Anna", "Khokhlova"), ("Michael A.", "Hedderich"), ("Dietrich", "Klakow")),
        year=2020,
        fields=_in_anthology(_BLACKBOX, "68--82", "2020.blackboxnlp-1.7"),
    ),
    Reference(
        key="petroni-etal-2019-language",
        kind="inproceedings",
        role="LAMA, the facts and their cloze questions",
        title="Language Models as Knowledge Bases?",
        authors=(
            ("Fabio", "Petroni"),
            ("Tim", "Rocktäschel"),
            ("Sebastian", "Riedel"),
            ("Patrick", "Lewis"),
            ("Anton", "Bakhtin"),
            ("Yuxiang", "Wu"),
            ("Alexander", "Miller"),
        ),
        year=2019,
        fields=_in_anthology(_EMNLP, "2463--2473", "D19-1250"),
    ),
    Reference(
        key="nostalgebraist-2020-logit-lens",
        kind="misc",
        role="The logit lens",
        title="interpreting GPT: the logit lens",
        authors=(("", "nostalgebraist"),),
        year=2020,
        fields=(
            ("howpublished", "LessWrong"),
            ("url", "https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens"),
        ),
    ),
    Reference(
        key="belrose-etal-2023-tuned-lens",
        kind="misc",
        role="The tuned lens",
        title="Eliciting Latent Predictions from Transformers with the Tuned Lens",
        authors=(
            ("Nora", "Belrose"),
            ("Zach", "Furman"),
            ("Logan", "Smith"),
            ("Danny", "Halawi"),
            ("Igor", "Ostrovsky"),
            ("Lev", "McKinney"),
            ("Stella", "Biderman"),
            ("Jacob", "Steinhardt"),
        ),
        year=2023,
        fields=(("eprint", "2303.08112"), ("archivePrefix", "arXiv"), ("url", "https://arxiv.org/abs/2303.08112")),
    ),
)
