//! The content-addressed storage of a server: what it misses is sent, each file once.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;

use futures_util::stream;
use tonic::Status;
use tracing::debug;

use super::client::{ReapiClient, text_of};
use super::protocol::{
    BATCH_UPDATE, BYTES_READ, BYTES_WRITE, BatchUpdateRequest, BatchUpdateResponse, BlobUpdate, Digest, FIND_MISSING,
    FindMissingRequest, FindMissingResponse, ReadRequest, ReadResponse, WriteRequest, WriteResponse,
};
use crate::inputs::digest_of_bytes;

/// A list of so many hashes is well below the size of a message.
const ASKED_AT_ONCE: usize = 10_000;
/// Messages have at most 4 MB where the server gives no limit, with what is around the contents.
const BATCH: usize = 3 << 20;
/// Larger files are sent in pieces of this size.
const PIECE: usize = 1 << 20;

/// Where the content of a blob is.
#[derive(Clone, Debug)]
pub(super) enum BlobSource {
    File(PathBuf),
    Bytes(Vec<u8>),
}

/// What the server is to have.
#[derive(Clone, Debug, Default)]
pub(super) struct Blobs(BTreeMap<Digest, BlobSource>);

impl Blobs {
    pub(super) fn add_bytes(&mut self, bytes: Vec<u8>) -> Digest {
        let digest = Digest { hash: digest_of_bytes(&bytes), size_bytes: bytes.len() as i64 };
        self.0.insert(digest.clone(), BlobSource::Bytes(bytes));
        digest
    }

    pub(super) fn add_file(&mut self, hash: &str, size: u64, path: PathBuf) -> Digest {
        let digest = Digest { hash: hash.to_owned(), size_bytes: size as i64 };
        self.0.insert(digest.clone(), BlobSource::File(path));
        digest
    }
}

impl BlobSource {
    fn bytes(&self, digest: &Digest) -> io::Result<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::File(path) => {
                let bytes = fs::read(path)?;
                let is_same = bytes.len() as i64 == digest.size_bytes && digest_of_bytes(&bytes) == digest.hash;
                is_same
                    .then_some(bytes)
                    .ok_or_else(|| io::Error::other(format!("{} changed while it was sent", path.display())))
            }
        }
    }
}

/// Sends what the server does not have. Returns how many bytes that were.
pub(super) async fn upload(client: &ReapiClient, blobs: &Blobs, batch: usize) -> io::Result<u64> {
    let missing = missing(client, blobs.0.keys().cloned().collect()).await.map_err(io_error)?;
    let mut moved = 0;
    let (mut group, mut length) = (Vec::new(), 0);
    for digest in missing {
        let Some(source) = blobs.0.get(&digest) else { continue };
        let size = usize::try_from(digest.size_bytes).unwrap_or_default();
        moved += size as u64;
        if size > batch {
            write(client, &digest, source).await?;
            continue;
        }
        // Each has a hash and some bytes around it.
        if length + size + 200 > batch {
            send_group(client, std::mem::take(&mut group)).await?;
            length = 0;
        }
        length += size + 200;
        let data = source.bytes(&digest)?;
        group.push(BlobUpdate { digest: Some(digest), data });
    }
    if !group.is_empty() {
        send_group(client, group).await?;
    }
    Ok(moved)
}

async fn missing(client: &ReapiClient, digests: Vec<Digest>) -> Result<Vec<Digest>, Status> {
    let mut missing = HashSet::new();
    for asked in digests.chunks(ASKED_AT_ONCE) {
        let request = FindMissingRequest { instance_name: client.instance.clone(), blob_digests: asked.to_vec() };
        let answer: FindMissingResponse = client.call(FIND_MISSING, request).await?;
        missing.extend(answer.missing_blob_digests);
    }
    Ok(missing.into_iter().collect())
}

/// The largest group of contents for one message, by what the server says.
pub(super) fn batch_size(said: Option<i64>) -> usize {
    said.and_then(|size| usize::try_from(size).ok()).filter(|size| *size > 0).map_or(BATCH, |size| size.min(BATCH))
}

async fn send_group(client: &ReapiClient, requests: Vec<BlobUpdate>) -> io::Result<()> {
    let request = BatchUpdateRequest { instance_name: client.instance.clone(), requests };
    let answer: BatchUpdateResponse = client.call(BATCH_UPDATE, request).await.map_err(io_error)?;
    let refused = answer.responses.iter().filter_map(|one| one.status.as_ref()).find(|status| status.code != 0);
    refused
        .map_or(Ok(()), |status| Err(io::Error::other(format!("the server does not take a file: {}", status.message))))
}

/// Sends a large file in pieces.
async fn write(client: &ReapiClient, digest: &Digest, source: &BlobSource) -> io::Result<()> {
    let path = match source {
        BlobSource::File(path) => Some(path.clone()),
        BlobSource::Bytes(_) => None,
    };
    let again = || async {
        let content: Box<dyn Read + Send> = match source {
            BlobSource::File(path) => Box::new(File::open(path).map_err(|error| Status::not_found(error.to_string()))?),
            BlobSource::Bytes(bytes) => Box::new(io::Cursor::new(bytes.clone())),
        };
        let name = resource(client, &format!("uploads/{}/", upload_id()), digest);
        let answer: WriteResponse = client.send_all(BYTES_WRITE, pieces(name, content, digest.size_bytes)).await?;
        match answer.committed_size == digest.size_bytes {
            true => Ok(()),
            false => Err(Status::data_loss("the server has only a part of a file")),
        }
    };
    let written = client.repeated(BYTES_WRITE, client.patience, again).await;
    debug!(?path, size = digest.size_bytes, "a large file was sent");
    written.map_err(io_error)
}

/// A file that becomes shorter meanwhile ends the stream early; the server refuses it then.
fn pieces(name: String, content: Box<dyn Read + Send>, size: i64) -> impl futures_util::Stream<Item = WriteRequest> {
    stream::unfold((content, 0, false), move |(mut content, offset, done)| {
        let name = name.clone();
        async move {
            if done {
                return None;
            }
            let mut data = vec![0; PIECE];
            let mut length = 0;
            while length < PIECE {
                match content.read(&mut data[length..]) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => length += count,
                }
            }
            data.truncate(length);
            let next = offset + length as i64;
            let finish_write = next >= size || length == 0;
            let resource_name = if offset == 0 { name } else { String::new() };
            let piece = WriteRequest { resource_name, write_offset: offset, finish_write, data };
            Some((piece, (content, next, finish_write)))
        }
    })
}

/// The content of a blob.
pub(super) async fn download(client: &ReapiClient, digest: &Digest) -> Result<Vec<u8>, String> {
    let again = || async {
        let name = resource(client, "", digest);
        let mut stream = client.stream(BYTES_READ, ReadRequest { resource_name: name }).await?;
        let mut content = Vec::new();
        while let Some(piece) = stream.message().await? {
            let ReadResponse { data } = piece;
            content.extend(data);
        }
        Ok(content)
    };
    if digest.size_bytes == 0 {
        return Ok(Vec::new());
    }
    let content: Vec<u8> =
        client.repeated(BYTES_READ, client.patience, again).await.map_err(|status| text_of(&status))?;
    match digest_of_bytes(&content) == digest.hash {
        true => Ok(content),
        false => Err("the server sent damaged results".to_owned()),
    }
}

fn resource(client: &ReapiClient, upload: &str, digest: &Digest) -> String {
    let instance = if client.instance.is_empty() { String::new() } else { format!("{}/", client.instance) };
    format!("{instance}{upload}blobs/{}/{}", digest.hash, digest.size_bytes)
}

/// A random UUID.
fn upload_id() -> String {
    let mut bytes = [0_u8; 16];
    // Uploads of equal files with equal names disturb each other only for as long as both run.
    let _ = getrandom::fill(&mut bytes);
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]];
    parts.join("-")
}

fn io_error(status: Status) -> io::Error {
    io::Error::other(text_of(&status))
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    #[test]
    fn a_large_file_is_sent_in_pieces() {
        let content = vec![7; 2 * PIECE + 5];
        let size = content.len() as i64;
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let sent = pieces("name".to_owned(), Box::new(io::Cursor::new(content)), size);
        let sent: Vec<_> = runtime.block_on(sent.collect());
        let shape: Vec<_> = sent
            .iter()
            .map(|one| (one.resource_name.as_str(), one.write_offset, one.data.len(), one.finish_write))
            .collect();
        let step = PIECE as i64;
        assert_eq!(shape, [("name", 0, PIECE, false), ("", step, PIECE, false), ("", 2 * step, 5, true)]);
    }

    #[test]
    fn upload_ids_are_uuids_and_differ() {
        let (one, other) = (upload_id(), upload_id());
        assert_eq!(one.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_ne!(one, other);
    }

    #[test]
    fn batches_fit_into_messages() {
        assert_eq!(batch_size(None), BATCH);
        assert_eq!(batch_size(Some(0)), BATCH);
        assert_eq!(batch_size(Some(1000)), 1000);
        assert_eq!(batch_size(Some(i64::MAX)), BATCH);
    }
}
