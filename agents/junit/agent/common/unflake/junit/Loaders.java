package unflake.junit;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs tests one after the other, each in a class loader and a thread of its own, together with those right after it that are the same
 * test. So nothing that others left in the project's classes is there, nor in thread locals, nor in {@link Settings}; what they left
 * elsewhere in the JVM is.
 */
final class Loaders {
    interface Play {
        void run(List<Wanted> tests) throws Exception;
    }

    private final Shelf shelf;
    private final Play play;

    /** {@code classPath}: what is not on that of this process. */
    Loaders(List<String> classPath, Play play) throws MalformedURLException {
        URL[] places = new URL[classPath.size()];
        for (int at = 0; at < places.length; at++) {
            places[at] = new File(classPath.get(at)).toURI().toURL();
        }
        shelf = new Shelf(places);
        this.play = play;
        // As it is where all share one class loader.
        List<String> whole = new ArrayList<>(classPath);
        whole.add(0, System.getProperty("java.class.path"));
        System.setProperty("java.class.path", String.join(File.pathSeparator, whole));
    }

    void run(List<String> keys, Wire wire) {
        Settings settings = new Settings();
        Room room = new Room();
        int at = 0;
        while (at < keys.size()) {
            List<Wanted> same = new ArrayList<>();
            do {
                same.add(new Wanted(at, keys.get(at)));
                at++;
            } while (at < keys.size() && keys.get(at).equals(keys.get(at - 1)));
            apart(same);
            settings.putBack();
            if (at < keys.size() && room.isScarce()) {
                wire.say(new Message().put("enough", true));
                return;
            }
        }
    }

    private void apart(List<Wanted> tests) {
        Thread thread = new Thread(() -> {
            try {
                play.run(tests);
            } catch (Throwable problem) {
                // Of tests that were not run, whoever counts them will say so; that is theirs alone.
            }
        }, "main");
        thread.setContextClassLoader(new Loader(shelf, Loaders.class.getClassLoader()));
        thread.start();
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException meddler) {
                // Some test interrupts every thread that it finds.
            }
        }
    }
}
