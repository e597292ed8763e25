"""Word and topic intrusion: can people tell what does not belong?

>>> from bnptopics import intrusion
>>> quiz = intrusion.word_quiz(model, random_state=0)
>>> quiz.save("key.json")  # stays with the instructor
>>> quiz.without_key().save("quiz.json")  # goes to the class
>>> answers = intrusion.collect("handed_in/", quiz)  # a folder of files of answers
>>> print(intrusion.score(quiz, answers))
"""

import importlib
from typing import Any

__all__ = ["Answers", "Key", "Question", "Quiz", "Score", "collect", "score", "simulate", "topic_quiz", "word_quiz"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(importlib.import_module("bnptopics.intrusion.estimator"), name)
    raise AttributeError(f"module 'bnptopics.intrusion' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return __all__
