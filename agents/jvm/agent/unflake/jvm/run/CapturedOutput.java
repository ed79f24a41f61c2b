package unflake.jvm.run;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import unflake.jvm.protocol.AgentError;

/** What tests print, bounded: the first and the last 16 KiB. */
public final class CapturedOutput {
    private static final int LIMIT = 16 << 10;

    final BoundedBuffer out = new BoundedBuffer();
    final BoundedBuffer err = new BoundedBuffer();

    /** Redirects {@code System.out} and {@code System.err}. */
    public static CapturedOutput install() {
        CapturedOutput output = new CapturedOutput();
        System.setOut(new PrintStream(output.out, true));
        System.setErr(new PrintStream(output.err, true));
        return output;
    }

    /** Keeps the first and the last {@code LIMIT} bytes. */
    static final class BoundedBuffer extends OutputStream {
        private final ByteArrayOutputStream start = new ByteArrayOutputStream();
        private final byte[] end = new byte[LIMIT];
        private long overflow;

        @Override
        public void write(int value) {
            write(new byte[] {(byte) value}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) {
            AgentError.guard(() -> add(bytes, from, length));
        }

        private synchronized void add(byte[] bytes, int from, int length) {
            int fitting = Math.min(length, LIMIT - start.size());
            start.write(bytes, from, fitting);
            for (int index = fitting; index < length; index++) {
                end[(int) (overflow++ % LIMIT)] = bytes[from + index];
            }
        }

        /** Returns and removes what was written since the last call. */
        synchronized String drain() {
            if (start.size() == 0) {
                return "";
            }
            String text = text();
            start.reset();
            overflow = 0;
            return text;
        }

        /** Returns what was written since the last {@link #drain}. */
        synchronized String text() {
            byte[] tail = new byte[(int) Math.min(overflow, LIMIT)];
            for (int index = 0; index < tail.length; index++) {
                tail[index] = end[(int) ((overflow - tail.length + index) % LIMIT)];
            }
            long missing = overflow - tail.length;
            String text = text(start.toByteArray());
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
