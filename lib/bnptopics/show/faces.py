"""What widgets of two faces share: live controls where a kernel runs, plain HTML in a page that has none."""

from __future__ import annotations

from typing import Any


class TwoFaces:
    """A widget that shows as an ipywidget in JupyterLab and Voilà, and as HTML with a script of its own in a page.

    A subclass has `live`, which makes the ipywidget, and `_repr_html_`, the page's face.
    """

    _live: Any = None

    def live(self) -> Any:
        """The widget for a running kernel."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        try:
            import ipywidgets  # noqa: F401
        except ImportError:
            return bundle
        if self._live is None:
            self._live = self.live()
        view = self._live._repr_mimebundle_()
        # ipywidgets answers with a bundle, or with a bundle and its metadata.
        return (view[0] if isinstance(view, tuple) else view) | bundle
