package unflake.jvm.bytecode;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Reads structures that are common to all parts of a class file. */
class ClassFileReader {
    /** Receives an attribute: its name, its offset, and its length with the header of six bytes. */
    interface AttributeVisitor {
        void visit(String name, int offset, int length) throws IOException;
    }

    final ByteBuffer in;
    final ConstantPool pool;

    ClassFileReader(ByteBuffer in, ConstantPool pool) {
        this.in = in;
        this.pool = pool;
    }

    final int u2(int offset) {
        return in.getShort(offset) & 0xffff;
    }

    /** Visits the attributes of the table at this offset, and returns the offset of its end. */
    final int attributes(int table, AttributeVisitor visitor) throws IOException {
        int offset = table + 2;
        for (int left = u2(table); left > 0; left--) {
            int length = 6 + in.getInt(offset + 2);
            visitor.visit(pool.text(u2(offset)), offset, length);
            offset += length;
        }
        return offset;
    }
}
