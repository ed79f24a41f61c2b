package unflake.jvm.trace;

import java.util.HashMap;
import java.util.Map;

/** JDK methods whose result can differ between runs, with the cause. */
final class NondeterministicCalls {
    /** By internal class name, then by method; {@code *} stands for all other methods. */
    private static final Map<String, Map<String, String>> KNOWN = new HashMap<>();

    /** An unlimited wait always has the same result; a wait with a timeout does not. */
    private static final String TIMED = "(JLjava/util/concurrent/TimeUnit;)Ljava/lang/Object;";
    private static final String TIMED_BOOLEAN = "(JLjava/util/concurrent/TimeUnit;)Z";

    static {
        put("randomness", "java/util/Random", "* -setSeed");
        put("randomness", "java/util/concurrent/ThreadLocalRandom java/util/SplittableRandom java/util/random/RandomGenerator", "*");
        put("randomness", "java/security/SecureRandom", "*");
        put("randomness", "java/lang/Math java/lang/StrictMath", "random");
        put("randomness", "java/util/UUID", "randomUUID");
        put("randomness", "java/util/Collections", "shuffle");
        put("time", "java/lang/System", "currentTimeMillis nanoTime");
        put("time", "java/time/Instant java/time/LocalDate java/time/LocalTime java/time/LocalDateTime java/time/ZonedDateTime", "now");
        put("time", "java/time/OffsetDateTime java/time/OffsetTime java/time/Year java/time/YearMonth java/time/MonthDay", "now");
        put("time", "java/time/Clock", "millis instant");
        put("time", "java/util/Date java/util/GregorianCalendar", "<init>()V");
        put("time", "java/util/Calendar", "getInstance");
        put("unordered-collection", "java/util/HashMap java/util/HashSet java/util/IdentityHashMap java/util/WeakHashMap", "<init>");
        put("unordered-collection", "java/util/concurrent/ConcurrentHashMap java/util/Hashtable", "<init>");
        put("unordered-collection", "java/util/Set java/util/Map", "of copyOf ofEntries");
        put("unordered-collection", "java/util/stream/Collectors", "toSet toMap groupingBy toUnmodifiableSet toUnmodifiableMap");
        put("unordered-collection", "java/lang/System", "identityHashCode");
        put("unordered-collection", "java/lang/Object", "hashCode");
        put("unordered-collection", "java/io/File", "list listFiles");
        put("unordered-collection", "java/nio/file/Files", "list walk find newDirectoryStream walkFileTree");
        put("unordered-collection", "java/lang/Class", "getMethods getDeclaredMethods getFields getDeclaredFields getDeclaredConstructors");
        put("async-wait", "java/lang/Thread", "sleep yield onSpinWait isAlive join(J)V join(JI)V");
        put("async-wait", "java/lang/Object", "wait(J)V wait(JI)V");
        put("async-wait", "java/util/concurrent/TimeUnit", "sleep timedJoin timedWait");
        put("async-wait", "java/util/concurrent/CountDownLatch java/util/concurrent/locks/Condition", "await" + TIMED_BOOLEAN);
        put("async-wait", "java/util/concurrent/CyclicBarrier", "await(JLjava/util/concurrent/TimeUnit;)I");
        put("async-wait", "java/util/concurrent/Future java/util/concurrent/CompletableFuture", "get" + TIMED + " getNow isDone orTimeout completeOnTimeout");
        put("async-wait", "java/util/concurrent/ExecutorService java/util/concurrent/ThreadPoolExecutor", "awaitTermination isTerminated invokeAny");
        put("async-wait", "java/util/concurrent/BlockingQueue java/util/concurrent/LinkedBlockingQueue java/util/concurrent/ArrayBlockingQueue", "poll offer");
        put("async-wait", "java/util/concurrent/Semaphore java/util/concurrent/locks/Lock java/util/concurrent/locks/ReentrantLock", "tryAcquire tryLock");
        put("async-wait", "java/util/concurrent/locks/LockSupport", "park parkNanos parkUntil");
        put("async-wait", "java/util/concurrent/ScheduledExecutorService", "schedule scheduleAtFixedRate scheduleWithFixedDelay");
        put("async-wait", "java/util/Timer", "schedule scheduleAtFixedRate");
        put("race", "java/lang/Thread", "start startVirtualThread");
        put("race", "java/util/concurrent/Executor java/util/concurrent/ExecutorService java/util/concurrent/ThreadPoolExecutor", "execute submit invokeAll");
        put("race", "java/util/concurrent/ForkJoinPool", "execute submit invoke");
        put("race", "java/util/concurrent/CompletableFuture", "runAsync supplyAsync thenApplyAsync thenAcceptAsync thenRunAsync anyOf");
        put("race", "java/util/Collection java/util/List java/util/Set java/util/ArrayList", "parallelStream");
        put("race", "java/util/stream/Stream java/util/stream/IntStream java/util/stream/LongStream", "parallel");
        put("network", "java/net/Socket java/net/ServerSocket java/net/DatagramSocket java/net/URLConnection java/net/HttpURLConnection", "*");
        put("network", "java/net/InetAddress java/net/NetworkInterface", "*");
        put("network", "java/net/URL", "openStream openConnection getContent");
        put("network", "java/net/http/HttpClient", "send sendAsync");
        put("network", "java/nio/channels/SocketChannel java/nio/channels/ServerSocketChannel", "*");
        put("io", "java/io/FileInputStream java/io/FileOutputStream java/io/FileReader java/io/FileWriter java/io/RandomAccessFile", "*");
        put("io", "java/io/File", "exists delete createNewFile mkdir mkdirs renameTo length lastModified createTempFile isFile isDirectory");
        put("io", "java/nio/file/Files", "*");
        put("io", "java/lang/Process java/lang/ProcessBuilder", "*");
        put("environment", "java/lang/System", "getenv getProperty");
        put("environment", "java/lang/Runtime", "availableProcessors freeMemory totalMemory maxMemory");
        put("environment", "java/lang/ProcessHandle", "pid");
        put("environment", "java/util/Locale java/util/TimeZone java/time/ZoneId java/nio/charset/Charset", "getDefault systemDefault defaultCharset");
        put("resource", "java/lang/Runtime", "gc");
        put("resource", "java/lang/System", "gc");
        put("resource", "java/lang/ref/WeakReference java/lang/ref/SoftReference java/lang/ref/Reference", "get");
        put("resource", "java/util/concurrent/Executors", "newFixedThreadPool");
    }

    private NondeterministicCalls() {
    }

    private static void put(String cause, String types, String methods) {
        for (String type : types.split(" ")) {
            Map<String, String> known = KNOWN.computeIfAbsent(type, any -> new HashMap<>());
            for (String method : methods.split(" ")) {
                known.putIfAbsent(method, method.startsWith("-") ? "" : cause);
            }
        }
    }

    /** The cause that makes a call of this method vary; null if none is known. */
    static String cause(String type, String method, String descriptor) {
        Map<String, String> known = KNOWN.get(type);
        if (known == null || known.containsKey("-" + method)) {
            return null;
        }
        // A generator with a fixed seed, or a date for a given moment, is deterministic.
        if (method.equals("<init>") && type.endsWith("Random") && !descriptor.equals("()V")) {
            return null;
        }
        String cause = known.get(method + descriptor);
        cause = cause == null ? known.get(method) : cause;
        return cause == null ? known.get("*") : cause;
    }
}
