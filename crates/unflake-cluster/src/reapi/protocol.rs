//! The messages of the Remote Execution API v2 and of the services that it builds on, as far as they
//! are used here. Written by hand from their field numbers: no build needs `protoc`.

use std::collections::BTreeMap;

use prost::Message;

pub(super) const CAPABILITIES: &str = "/build.bazel.remote.execution.v2.Capabilities/GetCapabilities";
pub(super) const EXECUTE: &str = "/build.bazel.remote.execution.v2.Execution/Execute";
pub(super) const WAIT: &str = "/build.bazel.remote.execution.v2.Execution/WaitExecution";
pub(super) const FIND_MISSING: &str = "/build.bazel.remote.execution.v2.ContentAddressableStorage/FindMissingBlobs";
pub(super) const BATCH_UPDATE: &str = "/build.bazel.remote.execution.v2.ContentAddressableStorage/BatchUpdateBlobs";
pub(super) const BYTES_READ: &str = "/google.bytestream.ByteStream/Read";
pub(super) const BYTES_WRITE: &str = "/google.bytestream.ByteStream/Write";
pub(super) const CANCEL: &str = "/google.longrunning.Operations/CancelOperation";

/// The number of SHA-256 among the digest functions.
pub(super) const SHA256: i32 = 1;

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Message)]
pub(super) struct Digest {
    #[prost(string, tag = "1")]
    pub(super) hash: String,
    #[prost(int64, tag = "2")]
    pub(super) size_bytes: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Directory {
    #[prost(message, repeated, tag = "1")]
    pub(super) files: Vec<FileNode>,
    #[prost(message, repeated, tag = "2")]
    pub(super) directories: Vec<DirectoryNode>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FileNode {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) digest: Option<Digest>,
    #[prost(bool, tag = "4")]
    pub(super) is_executable: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DirectoryNode {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) digest: Option<Digest>,
}

/// An environment variable of a command, or a property of a platform.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Message)]
pub(super) struct NamedValue {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Platform {
    #[prost(message, repeated, tag = "1")]
    pub(super) properties: Vec<NamedValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Command {
    #[prost(string, repeated, tag = "1")]
    pub(super) arguments: Vec<String>,
    #[prost(message, repeated, tag = "2")]
    pub(super) environment_variables: Vec<NamedValue>,
    /// Servers of version 2.0 know only these.
    #[prost(string, repeated, tag = "3")]
    pub(super) output_files: Vec<String>,
    #[prost(message, optional, tag = "5")]
    pub(super) platform: Option<Platform>,
    #[prost(string, repeated, tag = "7")]
    pub(super) output_paths: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Seconds {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Action {
    #[prost(message, optional, tag = "1")]
    pub(super) command_digest: Option<Digest>,
    #[prost(message, optional, tag = "2")]
    pub(super) input_root_digest: Option<Digest>,
    #[prost(message, optional, tag = "6")]
    pub(super) timeout: Option<Seconds>,
    #[prost(bool, tag = "7")]
    pub(super) do_not_cache: bool,
    #[prost(message, optional, tag = "10")]
    pub(super) platform: Option<Platform>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExecuteRequest {
    #[prost(string, tag = "1")]
    pub(super) instance_name: String,
    #[prost(bool, tag = "3")]
    pub(super) skip_cache_lookup: bool,
    #[prost(message, optional, tag = "6")]
    pub(super) action_digest: Option<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OperationName {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Nothing {}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Any {
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Operation {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) metadata: Option<Any>,
    #[prost(bool, tag = "3")]
    pub(super) done: bool,
    #[prost(message, optional, tag = "4")]
    pub(super) error: Option<RpcStatus>,
    #[prost(message, optional, tag = "5")]
    pub(super) response: Option<Any>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
}

/// How far an operation is.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OperationMetadata {
    #[prost(int32, tag = "1")]
    pub(super) stage: i32,
}

/// The stage of an operation whose action runs on a worker.
pub(super) const EXECUTING: i32 = 3;

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExecuteResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) result: Option<ActionResult>,
    #[prost(message, optional, tag = "3")]
    pub(super) status: Option<RpcStatus>,
    #[prost(string, tag = "5")]
    pub(super) message: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ActionResult {
    #[prost(message, repeated, tag = "2")]
    pub(super) output_files: Vec<OutputFile>,
    #[prost(int32, tag = "4")]
    pub(super) exit_code: i32,
    #[prost(bytes = "vec", tag = "7")]
    pub(super) stderr_raw: Vec<u8>,
    #[prost(message, optional, tag = "8")]
    pub(super) stderr_digest: Option<Digest>,
    #[prost(message, optional, tag = "9")]
    pub(super) execution_metadata: Option<ExecutionMetadata>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OutputFile {
    #[prost(string, tag = "1")]
    pub(super) path: String,
    #[prost(message, optional, tag = "2")]
    pub(super) digest: Option<Digest>,
    #[prost(bytes = "vec", tag = "5")]
    pub(super) contents: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExecutionMetadata {
    #[prost(string, tag = "1")]
    pub(super) worker: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FindMissingRequest {
    #[prost(string, tag = "1")]
    pub(super) instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) blob_digests: Vec<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct FindMissingResponse {
    #[prost(message, repeated, tag = "2")]
    pub(super) missing_blob_digests: Vec<Digest>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchUpdateRequest {
    #[prost(string, tag = "1")]
    pub(super) instance_name: String,
    #[prost(message, repeated, tag = "2")]
    pub(super) requests: Vec<BlobUpdate>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BlobUpdate {
    #[prost(message, optional, tag = "1")]
    pub(super) digest: Option<Digest>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BatchUpdateResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) responses: Vec<BlobStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct BlobStatus {
    #[prost(message, optional, tag = "1")]
    pub(super) digest: Option<Digest>,
    #[prost(message, optional, tag = "2")]
    pub(super) status: Option<RpcStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadRequest {
    #[prost(string, tag = "1")]
    pub(super) resource_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ReadResponse {
    #[prost(bytes = "vec", tag = "10")]
    pub(super) data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WriteRequest {
    #[prost(string, tag = "1")]
    pub(super) resource_name: String,
    #[prost(int64, tag = "2")]
    pub(super) write_offset: i64,
    #[prost(bool, tag = "3")]
    pub(super) finish_write: bool,
    #[prost(bytes = "vec", tag = "10")]
    pub(super) data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct WriteResponse {
    #[prost(int64, tag = "1")]
    pub(super) committed_size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CapabilitiesRequest {
    #[prost(string, tag = "1")]
    pub(super) instance_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ServerCapabilities {
    #[prost(message, optional, tag = "1")]
    pub(super) cache: Option<CacheCapabilities>,
    #[prost(message, optional, tag = "2")]
    pub(super) execution: Option<ExecutionCapabilities>,
    #[prost(message, optional, tag = "5")]
    pub(super) high_api_version: Option<ApiVersion>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CacheCapabilities {
    #[prost(int32, repeated, tag = "1")]
    pub(super) digest_functions: Vec<i32>,
    #[prost(int64, tag = "4")]
    pub(super) max_batch_total_size_bytes: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExecutionCapabilities {
    #[prost(int32, tag = "1")]
    pub(super) digest_function: i32,
    #[prost(bool, tag = "2")]
    pub(super) exec_enabled: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ApiVersion {
    #[prost(int32, tag = "1")]
    pub(super) major: i32,
    #[prost(int32, tag = "2")]
    pub(super) minor: i32,
}

/// Names and values in the order that the API asks for.
pub(super) fn named_values(values: &BTreeMap<String, String>) -> Vec<NamedValue> {
    let value = |(name, value): (&String, &String)| NamedValue { name: name.clone(), value: value.clone() };
    values.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_bytes_of_the_api() {
        // Encoded by the classes that protoc made of the published definitions.
        let digest = Digest { hash: "ab".to_owned(), size_bytes: 3 };
        assert_eq!(digest.encode_to_vec(), b"\x0a\x02ab\x10\x03");
        let action = Action {
            command_digest: Some(digest.clone()),
            input_root_digest: Some(Digest { hash: "c".to_owned(), size_bytes: 1 }),
            timeout: Some(Seconds { seconds: 60 }),
            do_not_cache: true,
            platform: None,
        };
        assert_eq!(
            action.encode_to_vec(),
            b"\x0a\x06\x0a\x02ab\x10\x03\x12\x05\x0a\x01c\x10\x01\x32\x02\x08\x3c\x38\x01"
        );
        let file = FileNode { name: "f".to_owned(), digest: Some(digest), is_executable: true };
        let tree = Directory { files: vec![file], directories: Vec::new() };
        assert_eq!(tree.encode_to_vec(), b"\x0a\x0d\x0a\x01f\x12\x06\x0a\x02ab\x10\x03\x20\x01");
    }
}
