package unflake.jvm.bytecode;

/** Parses method descriptors. */
public final class MethodDescriptor {
    private MethodDescriptor() {
    }

    /** A letter for each parameter: {@code A} for references, otherwise that of the type. */
    public static String parameterKinds(String descriptor) {
        StringBuilder kinds = new StringBuilder();
        for (int index = 1; descriptor.charAt(index) != ')'; index++) {
            char kind = descriptor.charAt(index);
            while (descriptor.charAt(index) == '[') {
                index++;
            }
            if (descriptor.charAt(index) == 'L') {
                index = descriptor.indexOf(';', index);
            }
            kinds.append(kind == '[' || kind == 'L' ? 'A' : kind);
        }
        return kinds.toString();
    }

    /** The number of local variables that the parameters occupy, without {@code this}. */
    public static int parameterSlots(String descriptor) {
        String kinds = parameterKinds(descriptor);
        return kinds.length() + (int) kinds.chars().filter(kind -> kind == 'J' || kind == 'D').count();
    }
}
