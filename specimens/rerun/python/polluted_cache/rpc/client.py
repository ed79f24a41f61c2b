from rpc import signature


class Client:
    """Speaks version 1 and 2 of the protocol: uses the newer call where the server has it."""

    def __init__(self, server):
        self._server = server

    def echo(self, number):
        if "echo_negated" in signature.of(self._server):
            return self._server.echo_negated(number)
        return self._server.echo(number)
