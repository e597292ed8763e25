"""Draw the picture of the front page and of the README: topics of the State of the Union over the years.

python book/experiments/sotu_topics.py    writes book/_static/sotu_topics.png in about twenty seconds
"""

from pathlib import Path

from bnptopics import GibbsLDA, datasets
from bnptopics.show.lda_gibbs import most_of_their_time, over_time, telling_words

OUTPUT = Path(__file__).resolve().parents[1] / "_static" / "sotu_topics.png"


def main() -> None:
    sotu = datasets.load_sotu()
    model = GibbsLDA(n_topics=40, random_state=0).fit(sotu)
    year = sotu.labels["year"]
    chosen = most_of_their_time(year, model.doc_topic_, 12)
    words = telling_words(model.topic_word_, model.topic_mass_, model.vocabulary_)
    picture = over_time(year, model.doc_topic_, chosen, [", ".join(words[k]) for k in chosen])
    picture.figure.savefig(OUTPUT, dpi=130)
    print(picture.alt)


if __name__ == "__main__":
    main()
