package unflake.jvm.seeds;

import java.lang.instrument.Instrumentation;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import unflake.jvm.util.JvmAccess;

/**
 * Random numbers of the JDK that follow from the seed of the world, again from the beginning at the
 * start of each test. Generators that the project seeds itself are left alone. What a JVM draws once
 * follows from the seed for the whole process: the iteration order of immutable collections, and the
 * identity hashes of the first thread.
 */
public final class RandomSeeds {
    /** How many identity hashes at most are drawn beforehand. */
    private static final int MAX_HASHES = 1024;
    private static final int BUFFER_SIZE = 256;
    /** Generators that draw the seed of a new object from a counter. */
    private static final String[][] COUNTERS = {
        {"java.util.Random", "seedUniquifier"},
        {"java.util.concurrent.ThreadLocalRandom", "seeder"},
        {"java.util.SplittableRandom", "defaultGen"},
        {"jdk.random.L32X64MixRandom", "defaultGen"},
        {"jdk.random.L64X128MixRandom", "defaultGen"},
        {"jdk.internal.random.L32X64MixRandom", "defaultGen"},
        {"jdk.internal.random.L64X128MixRandom", "defaultGen"},
    };
    /** Generators of {@code SecureRandom} that read a device. */
    private static final String[] DEVICES = {"sun.security.provider.NativePRNG", "sun.security.provider.NativePRNG$Blocking",
        "sun.security.provider.NativePRNG$NonBlocking"};

    private static final String[] ITERATORS = {
        "java.util.ImmutableCollections$Set12", "java.util.ImmutableCollections$Set12$1", "java.util.ImmutableCollections$SetN",
        "java.util.ImmutableCollections$SetN$SetNIterator", "java.util.ImmutableCollections$MapN",
        "java.util.ImmutableCollections$MapN$1", "java.util.ImmutableCollections$MapN$MapNIterator",
    };

    private static volatile RandomSeeds active;

    private final long seed;
    private final SeededStream seeds = new SeededStream();
    private final SeededStream device = new SeededStream();
    private final List<AtomicLong> counters = new ArrayList<>();
    private final List<Object> devices = new ArrayList<>();
    private Random ofMath;
    private Field ofCollections;
    private Field ofThread;

    private RandomSeeds(long seed) {
        this.seed = seed;
    }

    /** Does nothing in a world without a seed. */
    public static void install(Instrumentation jvm) throws Exception {
        Long seed = seedOf(System.getenv("UNFLAKE_UNDER"));
        if (seed == null || active != null) {
            return;
        }
        JvmAccess access = new JvmAccess(jvm, "java.base", "jdk.random");
        SeedInstrumenter instrumenter = new SeedInstrumenter();
        jvm.addTransformer(instrumenter, true);
        for (String name : SeedInstrumenter.DRAWING_CLASSES) {
            Class<?> type = find(name.replace('/', '.'), false);
            if (type != null) {
                jvm.retransformClasses(type);
            }
        }
        RandomSeeds seeds = new RandomSeeds(seed);
        seeds.findGenerators();
        seeds.setIterationOrder(jvm, access);
        seeds.restart("");
        active = seeds;
        // The first thread draws its identity hashes from a fixed sequence.
        for (long left = SeededStream.mix(seed) & MAX_HASHES - 1; left > 0; left--) {
            System.identityHashCode(new Object());
        }
    }

    /** The seed in the settings of the preloaded library. */
    static Long seedOf(String settings) {
        for (String word : settings == null ? new String[0] : settings.split(";")) {
            if (word.startsWith("random=")) {
                return Long.valueOf(word.substring(7));
            }
        }
        return null;
    }

    /** Called by test frameworks. */
    public static void testStarted(Object test) {
        RandomSeeds seeds = active;
        if (seeds == null) {
            return;
        }
        try {
            String name = nameOf(test);
            if (name != null) {
                seeds.restart(name);
            }
        } catch (Throwable error) {
            if (error instanceof VirtualMachineError) {
                throw (VirtualMachineError) error;
            }
            // Random numbers go on as they were.
            active = null;
        }
    }

    /** The same for a test wherever it runs; null for what is no test. */
    private static String nameOf(Object test) throws ReflectiveOperationException {
        if (has(test, "getSource")) {
            boolean isTest = (Boolean) call(test, "isTest");
            return isTest ? call(test, "getSource") + " " + call(test, "getDisplayName") : null;
        }
        if (has(test, "getInstanceName")) {
            return call(test, "getInstanceName") + " " + call(test, "getName");
        }
        return has(test, "getDisplayName") ? String.valueOf(call(test, "getDisplayName")) : test.getClass().getName() + " " + test;
    }

    private static boolean has(Object target, String name) {
        return Arrays.stream(target.getClass().getMethods()).anyMatch(method -> method.getName().equals(name) && method.getParameterCount() == 0);
    }

    private static Object call(Object target, String name) throws ReflectiveOperationException {
        Method method = target.getClass().getMethod(name);
        method.setAccessible(true);
        return method.invoke(target);
    }

    private void findGenerators() throws ReflectiveOperationException {
        for (String[] counter : COUNTERS) {
            Class<?> type = find(counter[0], true);
            if (type != null && Arrays.stream(type.getDeclaredFields()).anyMatch(field -> field.getName().equals(counter[1]))) {
                counters.add((AtomicLong) field(type, counter[1]).get(null));
            }
        }
        ofMath = (Random) field(Class.forName("java.lang.Math$RandomNumberGeneratorHolder"), "randomNumberGenerator").get(null);
        ofCollections = field(Collections.class, "r");
        ofThread = field(Thread.class, "threadLocalRandomSeed");
        // The provider comes first: it asks whether the devices exist, and decides by the answer.
        find("sun.security.provider.SunEntries", true);
        for (String name : DEVICES) {
            Class<?> type = find(name, true);
            Object reader = type == null ? null : field(type, "INSTANCE").get(null);
            if (reader != null) {
                field(reader.getClass(), "nextIn").set(reader, device);
                devices.add(reader);
            }
        }
    }

    /** All generators start again with what the seed and this name decide. */
    private synchronized void restart(String name) throws ReflectiveOperationException {
        long hash = 0xcbf29ce484222325L;
        for (int index = 0; index < name.length(); index++) {
            hash = (hash ^ name.charAt(index)) * 0x100000001b3L;
        }
        seeds.restart(SeededStream.mix(seed) ^ SeededStream.mix(hash));
        for (AtomicLong counter : counters) {
            counter.set(seeds.next());
        }
        ofMath.setSeed(seeds.next());
        Random shuffling = (Random) ofCollections.get(null);
        long seedOfShuffling = seeds.next();
        if (shuffling == null) {
            ofCollections.set(null, new Random(seedOfShuffling));
        } else {
            shuffling.setSeed(seedOfShuffling);
        }
        ThreadLocalRandom.current();
        ofThread.setLong(Thread.currentThread(), seeds.next());
        device.restart(seeds.next());
        for (Object reader : devices) {
            synchronized (field(reader.getClass(), "LOCK_GET_BYTES").get(reader)) {
                // Seeded from the device when it is needed again.
                field(reader.getClass(), "mixRandom").set(reader, null);
                field(reader.getClass(), "buffered").setInt(reader, 0);
                field(reader.getClass(), "nextBuffer").set(reader, new byte[BUFFER_SIZE]);
                field(reader.getClass(), "change_buffer").setInt(reader, 0);
            }
        }
    }

    /** Only iteration depends on these fields. Versions of Java before 16 have others. */
    private void setIterationOrder(Instrumentation jvm, JvmAccess access) throws Exception {
        Class<?> type = find("java.util.ImmutableCollections", true);
        for (Field field : type == null ? new Field[0] : type.getDeclaredFields()) {
            if (field.getName().equals("SALT32L")) {
                access.putStatic(field, SeededStream.mix(seed ^ 1) & 0xffffffffL);
            } else if (field.getName().equals("REVERSE")) {
                access.putStatic(field, (SeededStream.mix(seed ^ 2) & 1) == 0);
            }
        }
        // The start of the JVM iterates often enough for its compiler, which knows the old values.
        for (String iterator : ITERATORS) {
            Class<?> iterating = find(iterator, false);
            if (iterating != null) {
                jvm.retransformClasses(iterating);
            }
        }
    }

    private static Class<?> find(String name, boolean initialize) {
        try {
            return Class.forName(name, initialize, ClassLoader.getSystemClassLoader());
        } catch (ClassNotFoundException | LinkageError absent) {
            return null;
        }
    }

    private static Field field(Class<?> type, String name) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
