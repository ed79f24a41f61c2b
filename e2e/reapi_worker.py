"""A worker for a server of the Remote Execution API: `reapi_worker.py NAME SERVER DIRECTORY`.

It asks the server for actions by the Remote Workers API, as BuildGrid's own workers do, and runs one at a time. As with
most workers, files of an action are read-only links into a cache.
"""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import grpc
from buildgrid._protos.build.bazel.remote.execution.v2 import remote_execution_pb2 as rex
from buildgrid._protos.build.bazel.remote.execution.v2.remote_execution_pb2_grpc import ContentAddressableStorageStub
from buildgrid._protos.google.bytestream import bytestream_pb2, bytestream_pb2_grpc
from buildgrid._protos.google.devtools.remoteworkers.v1test2 import bots_pb2, bots_pb2_grpc, worker_pb2
from buildgrid._protos.google.rpc import code_pb2

BATCH = 1 << 20


class Storage:
    def __init__(self, channel, cache):
        self.blobs = ContentAddressableStorageStub(channel)
        self.bytes = bytestream_pb2_grpc.ByteStreamStub(channel)
        self.cache = cache
        cache.mkdir(exist_ok=True)

    def fetch(self, digests):
        """Brings blobs into the cache, many small ones at once."""
        wanted = {digest.hash: digest for digest in digests if not (self.cache / digest.hash).exists()}
        group, size = [], 0
        for digest in wanted.values():
            if digest.size_bytes > BATCH:
                name = "blobs/%s/%d" % (digest.hash, digest.size_bytes)
                parts = self.bytes.Read(bytestream_pb2.ReadRequest(resource_name=name))
                self.keep(digest, b"".join(part.data for part in parts))
                continue
            if size + digest.size_bytes > BATCH or len(group) >= 500:
                self.fetch_group(group)
                group, size = [], 0
            group.append(digest)
            size += digest.size_bytes
        if group:
            self.fetch_group(group)

    def fetch_group(self, digests):
        answer = self.blobs.BatchReadBlobs(rex.BatchReadBlobsRequest(digests=digests))
        for one in answer.responses:
            if one.status.code != 0:
                raise RuntimeError("%s: %s" % (one.digest.hash, one.status.message))
            self.keep(one.digest, one.data)

    def keep(self, digest, data):
        temporary = self.cache / (digest.hash + ".new")
        temporary.write_bytes(data)
        temporary.chmod(0o555)
        temporary.rename(self.cache / digest.hash)

    def message(self, kind, digest):
        self.fetch([digest])
        return kind.FromString((self.cache / digest.hash).read_bytes())

    def unpack(self, digest, place):
        """Makes a directory with everything below it."""
        level = [(digest, place)]
        while level:
            self.fetch([digest for digest, _ in level])
            directories = [(self.message(rex.Directory, digest), place) for digest, place in level]
            self.fetch([file.digest for directory, _ in directories for file in directory.files])
            level = []
            for directory, place in directories:
                place.mkdir()
                for file in directory.files:
                    os.link(self.cache / file.digest.hash, place / file.name)
                level += [(one.digest, place / one.name) for one in directory.directories]

    def store(self, data):
        from hashlib import sha256

        digest = rex.Digest(hash=sha256(data).hexdigest(), size_bytes=len(data))
        name = "uploads/%s/blobs/%s/%d" % (os.urandom(16).hex(), digest.hash, digest.size_bytes)
        pieces = range(0, max(len(data), 1), BATCH)
        request = lambda at: bytestream_pb2.WriteRequest(
            resource_name=name, write_offset=at, data=data[at : at + BATCH], finish_write=at + BATCH >= len(data)
        )
        self.bytes.Write(request(at) for at in pieces)
        return digest


class Worker:
    def __init__(self, name, server, place):
        self.name, self.place = name, place
        options = [("grpc.max_receive_message_length", 1 << 26)]
        channel = grpc.insecure_channel(server, options=options)
        self.bots = bots_pb2_grpc.BotsStub(channel)
        self.storage = Storage(channel, place / "cache")
        self.running = {}
        self.results = {}

    def session(self):
        device = worker_pb2.Device(handle="machine")
        pool = device.properties.add()
        pool.key, pool.value = "pool", "all"
        return bots_pb2.BotSession(bot_id=self.name, status=bots_pb2.OK, worker=worker_pb2.Worker(devices=[device]))

    def serve(self):
        session = None
        while True:
            try:
                if session is None:
                    session = self.bots.CreateBotSession(
                        bots_pb2.CreateBotSessionRequest(parent="", bot_session=self.session()), timeout=5
                    )
                    (self.place / "ready").touch()
                self.take(session)
                is_busy = any(lease.state == bots_pb2.ACTIVE for lease in session.leases)
                if is_busy:
                    self.wait(session)
                request = bots_pb2.UpdateBotSessionRequest(name=session.name, bot_session=session)
                session = self.bots.UpdateBotSession(request, timeout=6)
            except grpc.RpcError as error:
                print(error.code(), error.details(), flush=True)
                if error.code() not in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE):
                    session = None
                threading.Event().wait(0.3)

    def take(self, session):
        for lease in session.leases:
            if lease.state == bots_pb2.PENDING:
                lease.state = bots_pb2.ACTIVE
                self.start(lease)
            elif lease.state == bots_pb2.ACTIVE and lease.id not in self.running:
                self.start(lease)
            elif lease.state == bots_pb2.CANCELLED:
                self.stop(lease.id)
        wanted = {lease.id for lease in session.leases}
        for lease in [lease for lease in self.running if lease not in wanted]:
            self.stop(lease)

    def wait(self, session):
        """Until an action has ended, or the server has to hear something."""
        events = [self.running[lease.id]["ended"] for lease in session.leases if lease.id in self.running]
        events[0].wait(1)
        for lease in session.leases:
            if lease.id in self.results:
                result = self.results.pop(lease.id)
                self.running.pop(lease.id, None)
                lease.state = bots_pb2.COMPLETED
                if isinstance(result, rex.ActionResult):
                    lease.result.Pack(result)
                else:
                    lease.status.code, lease.status.message = code_pb2.INTERNAL, result

    def start(self, lease):
        state = {"ended": threading.Event(), "process": None, "stopped": False}
        self.running[lease.id] = state
        payload = lease.payload

        def run():
            try:
                result = self.run(payload, state)
            except Exception as error:
                result = "%s: %s" % (type(error).__name__, error)
            if not state["stopped"]:
                self.results[lease.id] = result
            state["ended"].set()

        threading.Thread(target=run, daemon=True).start()

    def stop(self, lease):
        state = self.running.pop(lease, None)
        if state is not None:
            state["stopped"] = True
            if state["process"] is not None:
                state["process"].kill()

    def run(self, payload, state):
        action = rex.Action()
        if not payload.Unpack(action):
            digest = rex.Digest()
            payload.Unpack(digest)
            action = self.storage.message(rex.Action, digest)
        command = self.storage.message(rex.Command, action.command_digest)
        root = self.place / ("action-" + os.urandom(8).hex())
        try:
            self.storage.unpack(action.input_root_digest, root)
            environment = {one.name: one.value for one in command.environment_variables}
            environment["UNFLAKE_TEST_WORKER"] = os.environ["UNFLAKE_TEST_WORKER"]
            process = subprocess.Popen(
                list(command.arguments),
                cwd=str(root / command.working_directory),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            state["process"] = process
            if state["stopped"]:
                process.kill()
            output, errors = process.communicate()
            result = rex.ActionResult(exit_code=process.returncode, stdout_raw=output, stderr_raw=errors)
            result.execution_metadata.worker = self.name
            for path in command.output_paths:
                file = root / path
                if file.exists():
                    result.output_files.add(path=path, digest=self.storage.store(file.read_bytes()))
            return result
        finally:
            shutil.rmtree(root, ignore_errors=True)


Worker(sys.argv[1], sys.argv[2], Path(sys.argv[3])).serve()
