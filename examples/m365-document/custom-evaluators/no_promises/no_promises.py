"""Code only: responses must not promise anything."""


class NoPromises:
    """Looks for the words that the document names."""

    def __init__(self, *, options=None, **_):
        self.words = (options or {}).get("words", [])

    def __call__(self, *, response="", **_):
        """Score 1 (passes) without such words, else 0."""
        found = [word for word in self.words if word in response.lower()]
        return {"score": int(not found), "reason": f"found: {', '.join(found)}" if found else "no promises"}
