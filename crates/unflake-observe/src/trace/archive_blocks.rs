//! Stores sequences of numbers on disk so that their common prefix can be found without reading
//! them.

use std::collections::hash_map::{DefaultHasher, RandomState};
use std::fs::{File, OpenOptions, remove_file};
use std::hash::{BuildHasher, Hasher};
use std::io::{Error as IoError, ErrorKind, Result as IoResult};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::trace::Error;

/// The number of values that are compressed together.
pub(crate) const BLOCK: usize = 16 << 10;
const BYTES: usize = BLOCK * 4;

/// One unlinked file that contains all sequences; it disappears with the process.
#[derive(Debug)]
pub(crate) struct Blocks {
    file: File,
    end: u64,
    /// Two hashers make a 128-bit hash. Their keys are random, so no trace can forge a collision.
    hashes: [RandomState; 2],
}

/// A stored sequence.
#[derive(Debug, Default)]
pub(crate) struct BlockStream {
    pub(crate) length: u64,
    blocks: Vec<ArchiveBlock>,
}

#[derive(Debug)]
struct ArchiveBlock {
    at: u64,
    packed: u32,
    /// The hash of everything from the beginning of the sequence to the end of this block.
    until: u128,
}

/// A sequence that is being written.
pub(crate) struct BlockWriter<'a> {
    into: &'a mut Blocks,
    stream: BlockStream,
    block: Vec<u8>,
    packed: Vec<u8>,
    running: [DefaultHasher; 2],
}

impl Blocks {
    pub(crate) fn new(directory: &Path) -> Result<Blocks, Error> {
        let path = directory.join(format!("archive-{}", std::process::id()));
        let open = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
        let file = open.map_err(Error::at(&path))?;
        remove_file(&path).map_err(Error::at(&path))?;
        Ok(Blocks { file, end: 0, hashes: [RandomState::new(), RandomState::new()] })
    }

    pub(crate) fn writer(&mut self) -> BlockWriter<'_> {
        let running = [self.hashes[0].build_hasher(), self.hashes[1].build_hasher()];
        let packed = vec![0; lz4_flex::block::get_maximum_output_size(BYTES)];
        BlockWriter { into: self, stream: BlockStream::default(), block: Vec::with_capacity(BYTES), packed, running }
    }

    /// The length of the common prefix of two sequences.
    pub(crate) fn common(&self, one: &BlockStream, other: &BlockStream) -> IoResult<u64> {
        let same = |at: &usize| one.blocks[*at].until == other.blocks[*at].until;
        if one.length == other.length && one.blocks.len().checked_sub(1).is_none_or(|last| same(&last)) {
            return Ok(one.length);
        }
        // Prefix hashes are equal up to some block and different after it, so a binary search finds
        // it.
        let whole = (one.length.min(other.length) / BLOCK as u64) as usize;
        let (mut from, mut to) = (0, whole);
        while from < to {
            let middle = from + (to - from) / 2;
            if same(&middle) { from = middle + 1 } else { to = middle }
        }
        let (one, other) = (self.unpack(one, from)?, self.unpack(other, from)?);
        let equal = one.chunks_exact(4).zip(other.chunks_exact(4)).take_while(|(one, other)| one == other).count();
        Ok((from * BLOCK + equal) as u64)
    }

    /// At most `most` numbers, starting at `from`.
    pub(crate) fn read(&self, stream: &BlockStream, from: u64, most: usize) -> IoResult<Vec<u32>> {
        let to = stream.length.min(from.saturating_add(most as u64));
        let mut numbers = Vec::with_capacity(to.saturating_sub(from) as usize);
        let mut at = from;
        while at < to {
            let (block, inside) = ((at / BLOCK as u64) as usize, (at % BLOCK as u64) as usize);
            let bytes = self.unpack(stream, block)?;
            let left = (to - at) as usize;
            let wanted = bytes[inside * 4..].chunks_exact(4).take(left);
            numbers.extend(wanted.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])));
            at = from + numbers.len() as u64;
        }
        Ok(numbers)
    }

    /// The bytes of one block; empty past the end of the sequence.
    fn unpack(&self, stream: &BlockStream, block: usize) -> IoResult<Vec<u8>> {
        let Some(ArchiveBlock { at, packed, .. }) = stream.blocks.get(block) else { return Ok(Vec::new()) };
        let mut bytes = vec![0; *packed as usize];
        self.file.read_exact_at(&mut bytes, *at)?;
        let length = (stream.length - (block * BLOCK) as u64).min(BLOCK as u64) as usize * 4;
        let unpacked = lz4_flex::block::decompress(&bytes, length);
        let unpacked = unpacked.map_err(|error| IoError::new(ErrorKind::InvalidData, error))?;
        if unpacked.len() != length {
            return Err(IoError::new(ErrorKind::InvalidData, "a block has another length than was written"));
        }
        Ok(unpacked)
    }
}

impl BlockWriter<'_> {
    pub(crate) fn push(&mut self, number: u32) -> IoResult<()> {
        self.block.extend_from_slice(&number.to_le_bytes());
        self.stream.length += 1;
        if self.block.len() == BYTES { self.flush() } else { Ok(()) }
    }

    pub(crate) fn length(&self) -> u64 {
        self.stream.length
    }

    pub(crate) fn finish(mut self) -> IoResult<BlockStream> {
        if !self.block.is_empty() {
            self.flush()?;
        }
        Ok(self.stream)
    }

    fn flush(&mut self) -> IoResult<()> {
        self.running.iter_mut().for_each(|hash| hash.write(&self.block));
        let [high, low] = self.running.each_ref().map(|hash| u128::from(hash.finish()));
        let packed = lz4_flex::block::compress_into(&self.block, &mut self.packed).map_err(IoError::other)?;
        self.into.file.write_all_at(&self.packed[..packed], self.into.end)?;
        self.stream.blocks.push(ArchiveBlock { at: self.into.end, packed: packed as u32, until: high << 64 | low });
        self.into.end += packed as u64;
        self.block.clear();
        Ok(())
    }
}
