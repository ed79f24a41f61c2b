package unflake.layers;

/** What is known of the parameters of a method by its descriptor. */
final class Names {
    private Names() {
    }

    static int count(String descriptor) {
        int count = 0;
        for (int at = 1; descriptor.charAt(at) != ')'; at++, count++) {
            at = end(descriptor, at);
        }
        return count;
    }

    /** Whether a parameter, counted from 0, is a float or a double. */
    static boolean isNumber(String descriptor, int wanted) {
        int at = 1;
        for (int passed = 0; passed < wanted; passed++) {
            at = end(descriptor, at) + 1;
        }
        return "FD".indexOf(descriptor.charAt(at)) >= 0;
    }

    /** As many names as there are parameters. Those that are left have none, and are not told. */
    static String padded(String names, int count) {
        StringBuilder padded = new StringBuilder(names);
        for (int there = names.split(",", -1).length; there < count; there++) {
            padded.append(',');
        }
        return padded.toString();
    }

    /** Where the type that begins here ends. */
    private static int end(String descriptor, int at) {
        while (descriptor.charAt(at) == '[') {
            at++;
        }
        return descriptor.charAt(at) == 'L' ? descriptor.indexOf(';', at) : at;
    }
}
