package unflake.jvm.util;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** {@code InputStream.readAllBytes}, which Java has from version 9 on. */
public final class Streams {
    private Streams() {
    }

    public static byte[] readAll(InputStream in) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] buffer = new byte[16 << 10];
        for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
            bytes.write(buffer, 0, count);
        }
        return bytes.toByteArray();
    }
}
