"""Replays journals of assistants and scores them, with the skill against without."""

__all__: list[str] = []
