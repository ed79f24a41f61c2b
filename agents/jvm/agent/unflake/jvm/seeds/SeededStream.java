package unflake.jvm.seeds;

import java.io.InputStream;

/** Random bytes that follow from a seed (SplitMix64). */
final class SeededStream extends InputStream {
    private long state;

    synchronized void restart(long seed) {
        state = seed;
    }

    synchronized long next() {
        state += 0x9e3779b97f4a7c15L;
        return mix(state);
    }

    static long mix(long number) {
        long mixed = (number ^ number >>> 30) * 0xbf58476d1ce4e5b9L;
        mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
        return mixed ^ mixed >>> 31;
    }

    @Override
    public int read() {
        return (int) (next() >>> 56);
    }

    @Override
    public int read(byte[] into, int offset, int length) {
        for (int index = 0; index < length; index++) {
            into[offset + index] = (byte) read();
        }
        return length;
    }
}
