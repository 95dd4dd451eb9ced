"""The functions of the task family `python_core`: one file a topic, each with its tests."""
