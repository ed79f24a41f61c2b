package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests that are hard to observe: each passes without an instrument. */
class AwkwardTest {
    static int twice(int number) {
        return 2 * number;
    }

    static int depth(int number) {
        return number == 0 ? 0 : 1 + depth(number - 1);
    }

    static int endless(int number) {
        return endless(number + 1) + 1;
    }

    /** Parameters that are overwritten, of every width. */
    static String overwrites(long one, double two, int three, Object four) {
        one += 1;
        two = two * 2;
        three = (int) one;
        four = "four";
        for (int five = 0; five < 3; five++) {
            three += five;
        }
        return one + " " + two + " " + three + " " + four;
    }

    static int choose(String word, int number) {
        switch (word) {
            case "Aa":
            case "BB":
                return 1;
            case "C":
                return 2;
            default:
                switch (number) {
                    case Integer.MIN_VALUE:
                        return 3;
                    case 0:
                    case 1:
                        return 4;
                    case Integer.MAX_VALUE:
                        return 5;
                    default:
                        return 6;
                }
        }
    }

    static int cleansUp(List<String> log, boolean fails) {
        try {
            if (fails) {
                throw new IllegalStateException("no");
            }
            return 1;
        } catch (IllegalStateException error) {
            log.add("caught");
            return 2;
        } finally {
            log.add("finally");
        }
    }

    static synchronized int locked(Object other) {
        synchronized (other) {
            return Thread.holdsLock(other) && Thread.holdsLock(AwkwardTest.class) ? 1 : 0;
        }
    }

    static final class Hostile implements Comparable<Hostile> {
        final List<Object> items = new HostileList();

        @Override
        public String toString() {
            throw new IllegalStateException("do not print");
        }

        @Override
        public int hashCode() {
            throw new IllegalStateException("do not hash");
        }

        @Override
        public boolean equals(Object other) {
            throw new IllegalStateException("do not compare");
        }

        @Override
        public int compareTo(Hostile other) {
            throw new IllegalStateException("do not order");
        }
    }

    static final class HostileList extends ArrayList<Object> {
        private static final long serialVersionUID = 1;

        @Override
        public int size() {
            throw new IllegalStateException("do not measure");
        }
    }

    static Object takes(Object one) {
        return null;
    }

    static class Base {
        final String seen;

        Base() {
            seen = name();
        }

        String name() {
            return "base";
        }
    }

    static class Derived extends Base {
        private final String own;

        Derived(String own) {
            super();
            this.own = own;
        }

        Derived(int number) {
            this(number > 0 ? "positive" : "other");
        }

        @Override
        String name() {
            return "derived " + own;
        }
    }

    static class Broken {
        static final int VALUE = fails();

        static int fails() {
            throw new IllegalArgumentException("broken");
        }
    }

    static class Kept implements Serializable {
        int number = 3;
    }

    static int exitOf(String... words) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(new File(System.getProperty("java.home"), "bin/java").getPath());
        command.addAll(Arrays.asList("-Xshare:auto", "-cp", System.getProperty("awkward.classes")));
        command.addAll(Arrays.asList(words));
        return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor();
    }

    /** Entry point of child processes. */
    public static void main(String[] words) {
        if (words[0].equals("halt")) {
            Runtime.getRuntime().halt(twice(3));
        }
        System.exit(twice(4));
    }

    @Test
    void childProcesses() throws Exception {
        assertEquals(6, exitOf("com.acme.AwkwardTest", "halt"));
        assertEquals(8, exitOf("com.acme.AwkwardTest", "exit"));
        assertEquals(9, new ProcessBuilder("sh", "-c", "exit 9").start().waitFor());
    }

    @Test
    void threads() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        try {
            List<Future<Integer>> results = new ArrayList<>();
            for (int number = 0; number < 50; number++) {
                int own = number;
                results.add(pool.submit(() -> twice(own)));
            }
            for (int number = 0; number < 50; number++) {
                assertEquals(2 * number, results.get(number).get());
            }
        } finally {
            pool.shutdownNow();
            assertTrue(pool.awaitTermination(30, TimeUnit.SECONDS));
        }
    }

    @Test
    void daemonThreadGoesOn() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            while (true) {
                twice(1);
                begun.countDown();
                try {
                    Thread.sleep(1);
                } catch (InterruptedException end) {
                    return;
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
        assertTrue(begun.await(30, TimeUnit.SECONDS));
    }

    @Test
    void interrupts() throws Exception {
        Thread.currentThread().interrupt();
        twice(1);
        assertTrue(Thread.interrupted());
        Thread thread = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                twice(2);
            }
        });
        thread.start();
        thread.interrupt();
        thread.join(30_000);
        assertFalse(thread.isAlive());
    }

    @Test
    void virtualThreads() throws Exception {
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            start.invoke(null, (Runnable) () -> { });
        } catch (NoSuchMethodException | java.lang.reflect.InvocationTargetException older) {
            return;
        }
        List<Integer> found = Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < 100; number++) {
            int own = number;
            threads.add((Thread) start.invoke(null, (Runnable) () -> found.add(twice(own))));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(100, found.size());
    }

    @Test
    void parallelStreams() {
        assertEquals(999_000, IntStream.range(0, 1000).parallel().map(AwkwardTest::twice).sum());
    }

    @Test
    void deepRecursion() {
        assertEquals(2000, depth(2000));
    }

    @Test
    void endlessRecursion() {
        for (int time = 0; time < 5; time++) {
            assertThrows(StackOverflowError.class, () -> endless(0));
        }
        assertEquals(2, twice(1));
    }

    @Test
    void endlessRecursionInAThread() throws Exception {
        boolean[] overflowed = new boolean[1];
        Thread thread = new Thread(null, () -> {
            try {
                endless(0);
            } catch (StackOverflowError expected) {
                overflowed[0] = true;
            }
        }, "small", 256 << 10);
        thread.start();
        thread.join();
        assertTrue(overflowed[0]);
    }

    @Test
    void stackTraces() {
        StackTraceElement[] here = new Throwable().getStackTrace();
        assertEquals("stackTraces", here[0].getMethodName());
        assertEquals("com.acme.AwkwardTest", here[0].getClassName());
        assertEquals("AwkwardTest.java", here[0].getFileName());
        IllegalStateException error = assertThrows(IllegalStateException.class, () -> new Hostile().toString());
        assertEquals("toString", error.getStackTrace()[0].getMethodName());
        assertTrue(error.getStackTrace()[0].getLineNumber() > 0);
    }

    @Test
    void membersOfClasses() {
        List<String> methods = Arrays.stream(Base.class.getDeclaredMethods()).map(Method::getName).collect(Collectors.toList());
        assertEquals(Collections.singletonList("name"), methods);
        assertEquals(1, Base.class.getDeclaredFields().length);
        assertEquals(2, Derived.class.getDeclaredConstructors().length);
    }

    @Test
    void serialization() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new Kept());
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            assertEquals(3, ((Kept) in.readObject()).number);
        }
        assertTrue(ObjectStreamClass.lookup(Kept.class).getSerialVersionUID() != 0);
    }

    @Test
    void weakReferencesAreCleared() throws Exception {
        WeakReference<Object> reference = new WeakReference<>(new int[1000]);
        takes(reference.get());
        for (int time = 0; reference.get() != null && time < 200; time++) {
            System.gc();
            Thread.sleep(5);
        }
        assertNull(reference.get());
    }

    @Test
    void hostileObjects() {
        Hostile hostile = new Hostile();
        assertNull(takes(hostile));
        assertNull(takes(hostile.items));
        assertNull(takes(new Object[] {hostile}));
    }

    @Test
    void constructors() {
        assertEquals("derived null", new Derived(1).seen);
        assertEquals("derived positive", new Derived(1).name());
        assertThrows(ExceptionInInitializerError.class, () -> takes(Broken.VALUE));
        assertThrows(NoClassDefFoundError.class, () -> takes(Broken.VALUE));
    }

    @Test
    void overwrittenParameters() {
        assertEquals("8 5.0 11 four", overwrites(7, 2.5, 1, 3));
    }

    @Test
    void branchesOfEveryKind() {
        assertEquals(1, choose("Aa", 0));
        assertEquals(1, choose("BB", 0));
        assertEquals(2, choose("C", 0));
        assertEquals(3, choose("", Integer.MIN_VALUE));
        assertEquals(4, choose("", 1));
        assertEquals(5, choose("", Integer.MAX_VALUE));
        assertEquals(6, choose("", -7));
        List<String> log = new ArrayList<>();
        assertEquals(1, cleansUp(log, false));
        assertEquals(2, cleansUp(log, true));
        assertEquals(Arrays.asList("finally", "caught", "finally"), log);
        assertEquals(1, locked(new Object()));
        Object one = new Object();
        assertTrue(one == takes(null) || one != null && one.equals(one) && 1.0 < 2.0 && 3L > 2L && !Double.isNaN(Float.MAX_VALUE));
    }

    @Test
    void ownClassLoader() throws Exception {
        byte[] bytes;
        try (InputStream in = AwkwardTest.class.getResourceAsStream("AwkwardTest$Base.class")) {
            ByteArrayOutputStream copy = new ByteArrayOutputStream();
            for (int next = in.read(); next >= 0; next = in.read()) {
                copy.write(next);
            }
            bytes = copy.toByteArray();
        }
        // It does not know the classes of the agent.
        ClassLoader loader = new ClassLoader(null) {
            @Override
            protected Class<?> findClass(String name) throws ClassNotFoundException {
                if (name.equals("com.acme.AwkwardTest$Base")) {
                    return defineClass(name, bytes, 0, bytes.length);
                }
                throw new ClassNotFoundException(name);
            }
        };
        Class<?> other = loader.loadClass("com.acme.AwkwardTest$Base");
        java.lang.reflect.Constructor<?> constructor = other.getDeclaredConstructor();
        constructor.setAccessible(true);
        constructor.newInstance();
        assertTrue(other != Base.class);
    }

    @Test
    void replacedStreams() throws IOException {
        java.io.PrintStream before = System.out;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        System.setOut(new java.io.PrintStream(bytes, true));
        try {
            System.out.print(twice(21));
        } finally {
            System.setOut(before);
        }
        assertEquals("42", bytes.toString());
    }

    @Test
    void exhaustedHeap() {
        assertThrows(OutOfMemoryError.class, () -> takes(new long[Integer.MAX_VALUE - 8]));
        assertEquals(2, twice(1));
    }
}
