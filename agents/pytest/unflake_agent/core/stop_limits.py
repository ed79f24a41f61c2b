"""What pytest counts towards --maxfail, and its requests to stop."""


class StopLimits:
    def __init__(self, session):
        self._session = session
        # From pytest 8 on the public names cannot be unset.
        self._fail = "_shouldfail" if hasattr(session, "_shouldfail") else "shouldfail"
        self._stop = "_shouldstop" if hasattr(session, "_shouldstop") else "shouldstop"

    def read(self):
        return self._session.testsfailed, self._session.shouldfail, self._session.shouldstop

    def restore(self, limits):
        """Restores counts; a request to stop that came since then stays."""
        self._session.testsfailed = limits[0]
        setattr(self._session, self._fail, limits[1])
        setattr(self._session, self._stop, limits[2] or self._session.shouldstop)

    def reset(self):
        setattr(self._session, self._fail, False)
        setattr(self._session, self._stop, False)
