import java.io.*;
import java.net.*;
import java.util.*;

/** Tells one fact of the world it runs in: `unflake doctor --factors` asks. */
class Tell {
    public static void main(String[] words) throws Exception {
        System.out.println(tell(words));
        System.exit(0);
    }

    static long now() {
        return System.nanoTime() / 1_000_000;
    }

    static Object tell(String[] words) throws Exception {
        switch (words[0]) {
            case "date": return System.currentTimeMillis() / 1000;
            case "sleep": {
                long began = now(), day = System.currentTimeMillis();
                Thread.sleep(4000);
                return (now() - began) + " " + (System.currentTimeMillis() - day);
            }
            case "zone": return TimeZone.getDefault().getOffset(1_800_000_000_000L) / 1000;
            case "locale": return Locale.getDefault() + " " + System.getProperty("sun.jnu.encoding");
            case "hash": return Set.of("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l");
            case "turns": case "addresses": return "nothing";
            case "random": return Long.toHexString(new java.security.SecureRandom().nextLong());
            case "cores": return Runtime.getRuntime().availableProcessors();
            case "busy": {
                long count = 0;
                for (long end = now() + 400; now() < end;) count++;
                return count;
            }
            case "memory": {
                try {
                    java.nio.ByteBuffer[] kept = new java.nio.ByteBuffer[4];
                    for (int i = 0; i < 4; i++) kept[i] = java.nio.ByteBuffer.allocateDirect(1 << 30);
                } catch (OutOfMemoryError error) {
                    return "refused";
                }
                return "given";
            }
            case "files": {
                List<InputStream> kept = new ArrayList<>();
                try {
                    for (int i = 0; i < 100; i++) kept.add(new FileInputStream("/dev/null"));
                } catch (IOException error) {
                    return "refused";
                }
                return "given";
            }
            case "sleeps": {
                long began = now();
                for (int i = 0; i < 20; i++) Thread.sleep(1);
                return now() - began;
            }
            case "connect": {
                try (Socket socket = new Socket()) {
                    socket.connect(new InetSocketAddress("192.0.2.1", 9), 1000);
                    return "connected";
                } catch (IOException error) {
                    return String.valueOf(error.getMessage()).contains("unreachable") ? "unreachable" : error.getMessage();
                }
            }
            case "echo": {
                try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                    long began = now();
                    new Thread(() -> {
                        try {
                            server.accept().getOutputStream().write('x');
                        } catch (IOException error) {
                            throw new UncheckedIOException(error);
                        }
                    }).start();
                    new Socket(server.getInetAddress(), server.getLocalPort()).getInputStream().read();
                    return now() - began;
                }
            }
            case "listing": return String.join(" ", new File(words[1]).list());
            case "variable": return Objects.toString(System.getenv("FACTOR_PROBE"), "");
            case "home": return System.getProperty("user.home");
            default: throw new IllegalArgumentException(words[0]);
        }
    }
}
