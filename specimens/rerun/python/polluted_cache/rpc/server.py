class OldServer:
    protocol = "test.echo"
    version = 1

    def echo(self, number):
        return number


class NewServer(OldServer):
    version = 2

    def echo_negated(self, number):
        return -number
