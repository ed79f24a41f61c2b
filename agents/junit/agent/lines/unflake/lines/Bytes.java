package unflake.lines;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** {@code InputStream.readAllBytes}, which Java has from 9 on. */
public final class Bytes {
    private Bytes() {
    }

    public static byte[] of(InputStream in) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] piece = new byte[16 << 10];
        for (int count = in.read(piece); count >= 0; count = in.read(piece)) {
            bytes.write(piece, 0, count);
        }
        return bytes.toByteArray();
    }
}
