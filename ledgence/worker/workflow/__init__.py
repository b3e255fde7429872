"""The workflow authoring API of protocol 3."""
