from filestore.store import FileStore

__all__ = ["FileStore"]
