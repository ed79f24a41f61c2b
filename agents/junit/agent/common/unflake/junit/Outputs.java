package unflake.junit;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;

/** What tests print, kept in bounds: the beginning and the end. */
final class Outputs {
    private static final int HALF = 16 << 10;

    final Kept out = new Kept();
    final Kept err = new Kept();

    /** From now on everything that is printed is kept here. */
    static Outputs take() {
        Outputs outputs = new Outputs();
        System.setOut(new PrintStream(outputs.out, true));
        System.setErr(new PrintStream(outputs.err, true));
        return outputs;
    }

    static final class Kept extends OutputStream {
        private final ByteArrayOutputStream head = new ByteArrayOutputStream();
        private final byte[] ring = new byte[HALF];
        private long beyond;

        @Override
        public synchronized void write(int one) {
            if (head.size() < HALF) {
                head.write(one);
            } else {
                ring[(int) (beyond++ % HALF)] = (byte) one;
            }
        }

        @Override
        public synchronized void write(byte[] bytes, int from, int length) {
            int fits = Math.min(length, HALF - head.size());
            head.write(bytes, from, fits);
            for (int at = fits; at < length; at++) {
                ring[(int) (beyond++ % HALF)] = bytes[from + at];
            }
        }

        /** What has come since the last time. */
        synchronized String drain() {
            if (head.size() == 0) {
                return "";
            }
            String text = text();
            head.reset();
            beyond = 0;
            return text;
        }

        /** The same, and it stays. */
        synchronized String text() {
            byte[] tail = new byte[(int) Math.min(beyond, HALF)];
            for (int at = 0; at < tail.length; at++) {
                tail[at] = ring[(int) ((beyond - tail.length + at) % HALF)];
            }
            long missing = beyond - tail.length;
            String text = text(head.toByteArray());
            if (missing > 0) {
                text += "\n… " + missing + " bytes left out …\n";
            }
            return text + text(tail);
        }

        private static String text(byte[] bytes) {
            return new String(bytes, Charset.defaultCharset());
        }
    }
}
