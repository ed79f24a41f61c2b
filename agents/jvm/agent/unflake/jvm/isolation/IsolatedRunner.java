package unflake.jvm.isolation;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.util.ArrayList;
import java.util.List;
import unflake.jvm.protocol.DriverOutput;
import unflake.jvm.protocol.JsonObject;
import unflake.jvm.run.RequestedTest;

/**
 * Runs tests one after the other, each in a class loader and a thread of its own; consecutive
 * requests for the same test share one. A test sees neither static state of project classes nor
 * thread locals of other tests, and {@link JvmDefaults} are restored between tests. Other state of
 * the JVM is shared.
 */
public final class IsolatedRunner {
    public interface TestRunner {
        void run(List<RequestedTest> tests) throws Exception;
    }

    private final ClassPathCache cache;
    private final TestRunner runner;

    /** {@code classPath}: the entries that are not on the class path of this process. */
    public IsolatedRunner(List<String> classPath, TestRunner runner) throws MalformedURLException {
        URL[] urls = new URL[classPath.size()];
        for (int index = 0; index < urls.length; index++) {
            urls[index] = new File(classPath.get(index)).toURI().toURL();
        }
        cache = new ClassPathCache(urls);
        this.runner = runner;
        // As it would be with a single class loader.
        List<String> fullPath = new ArrayList<>(classPath);
        fullPath.add(0, System.getProperty("java.class.path"));
        System.setProperty("java.class.path", String.join(File.pathSeparator, fullPath));
    }

    public void run(List<String> keys, DriverOutput output) {
        JvmDefaults defaults = new JvmDefaults();
        MetaspaceBudget metaspace = new MetaspaceBudget();
        int next = 0;
        while (next < keys.size()) {
            List<RequestedTest> repeats = new ArrayList<>();
            do {
                repeats.add(new RequestedTest(next, keys.get(next)));
                next++;
            } while (next < keys.size() && keys.get(next).equals(keys.get(next - 1)));
            runIsolated(repeats);
            defaults.restore();
            if (next < keys.size() && metaspace.isExhausted()) {
                output.send(new JsonObject().put("enough", true));
                return;
            }
        }
    }

    private void runIsolated(List<RequestedTest> tests) {
        Thread thread = new Thread(() -> {
            try {
                runner.run(tests);
            } catch (Throwable error) {
                // The driver notices tests that did not run; later tests are not affected.
            }
        }, "main");
        thread.setContextClassLoader(new ProjectClassLoader(cache, IsolatedRunner.class.getClassLoader()));
        thread.start();
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException interruption) {
                // Some tests interrupt every thread they find.
            }
        }
    }
}
