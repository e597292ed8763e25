r"""Errata of Faleiros and Lopes (2016): a module a part, each with its list.

In the report's letters: documents $j=1,\dots,m$, positions $i=1,\dots,n_{d_j}$, topics $k=1,\dots,K$, vocabulary
$l=1,\dots,n$; $\beta$ is the prior of the topics (elsewhere here: $\eta$), $c$ a count, $\varphi$ a responsibility.
"""

from .evaluation import chapter_5
from .gibbs import section_3_1
from .model import chapter_2
from .nmf import chapter_6
from .online import chapter_4
from .variational import section_3_2

__all__ = ["chapter_2", "section_3_1", "section_3_2", "chapter_4", "chapter_5", "chapter_6"]  # noqa: RUF022, the report's order
