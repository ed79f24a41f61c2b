package unflake.junit;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import unflake.lines.Shown;

/** What collections and arrays hold that is not what they held. */
final class Contents {
    private final Differences all;

    Contents(Differences all) {
        this.all = all;
    }

    /** Puts something at a place. */
    interface Put {
        void put(int at, Object old) throws Exception;
    }

    void elements(Step step, Object[] now, Kept kept, Put put) {
        for (int at = 0; at < now.length; at++) {
            int place = at;
            Object was = kept.parts[at];
            all.slot(step, "[" + at + "]", "element", was, now[at], null, () -> put.put(place, was));
        }
    }

    void list(Step step, Kept kept) {
        List<Object> list = castList(step.it);
        Object[] now = Kept.contents(list);
        if (now.length == kept.parts.length) {
            elements(step, now, kept, list::set);
        } else {
            replaced(step, kept, "list", now);
        }
    }

    void bag(Step step, Kept kept) {
        Object[] now = Kept.contents(step.it);
        boolean same = now.length == kept.parts.length;
        for (int at = 0; same && at < now.length; at++) {
            same = Shapes.same(now[at], kept.parts[at]);
        }
        if (same) {
            inside(step, now);
        } else {
            replaced(step, kept, kept.shape.name().toLowerCase(java.util.Locale.ROOT), now);
        }
    }

    void map(Step step, Kept kept) {
        Map<Object, Object> map = castMap(step.it);
        Object[] now = Kept.contents(map);
        if (!haveNames(kept.parts, 2) || !haveNames(now, 2)) {
            if (sameOnes(kept.parts, now)) {
                for (int at = 0; at < now.length; at += 2) {
                    all.descend(now[at + 1], step, "[" + Shapes.key(now[at]) + "]");
                    all.descend(now[at], step, "{" + Shapes.key(now[at]) + "}");
                }
            } else {
                replaced(step, kept, "map", now);
            }
            return;
        }
        Map<Object, Object> was = pairs(kept.parts);
        Map<Object, Object> is = pairs(now);
        Set<Object> keys = new LinkedHashSet<>(was.keySet());
        keys.addAll(is.keySet());
        for (Object key : keys) {
            String segment = "[" + Shapes.key(key) + "]";
            Object old = was.get(key);
            if (was.containsKey(key) && is.containsKey(key)) {
                all.slot(step, segment, "entry", old, is.get(key), null, () -> map.put(key, old));
            } else if (was.containsKey(key)) {
                Cell.Undo undo = all.undo(() -> map.put(key, old), old);
                all.cells.add(new Cell(step.path() + segment, "entry", all.textOf(old), null, null, undo));
            } else {
                String text = Shown.of(is.get(key), 1);
                all.cells.add(new Cell(step.path() + segment, "entry", null, text, null, () -> map.remove(key)));
            }
        }
    }

    void set(Step step, Kept kept) {
        Collection<Object> set = castCollection(step.it);
        Object[] now = Kept.contents(set);
        if (!haveNames(kept.parts, 1) || !haveNames(now, 1)) {
            if (sameOnes(kept.parts, now)) {
                inside(step, now);
            } else {
                replaced(step, kept, "set", now);
            }
            return;
        }
        Set<Object> was = new LinkedHashSet<>(Arrays.asList(kept.parts));
        Set<Object> is = new LinkedHashSet<>(Arrays.asList(now));
        for (Object one : was) {
            if (!is.contains(one)) {
                String path = step.path() + "{" + Shapes.key(one) + "}";
                all.cells.add(new Cell(path, "element", Shown.of(one, 0), null, null, () -> set.add(one)));
            }
        }
        for (Object one : is) {
            if (!was.contains(one)) {
                String path = step.path() + "{" + Shapes.key(one) + "}";
                all.cells.add(new Cell(path, "element", null, Shown.of(one, 0), null, () -> set.remove(one)));
            }
        }
    }

    private void inside(Step step, Object[] now) {
        for (Object one : now) {
            if (one != null) {
                all.descend(one, step, "{" + Shapes.key(one) + "}");
            }
        }
    }

    /** Another number of things is in it, or others that have no names. */
    private void replaced(Step step, Kept kept, String kind, Object[] now) {
        String text = Shown.of(now, kept.shape == Shapes.MAP, one -> Shown.of(one, 0));
        all.cells.add(new Cell(step.path(), kind, all.textOf(step.it), text, null, all.undo(kept.raw::putBack, step.it)));
        Set<Object> old = Collections.newSetFromMap(new IdentityHashMap<>());
        Collections.addAll(old, kept.parts);
        List<Object> left = new ArrayList<>(Arrays.asList(now));
        left.removeIf(one -> !old.contains(one));
        inside(step, left.toArray());
    }

    private static boolean haveNames(Object[] contents, int every) {
        for (int at = 0; at < contents.length; at += every) {
            if (contents[at] == null || !Shapes.isSimple(contents[at])) {
                return false;
            }
        }
        return true;
    }

    /** In any order. */
    private static boolean sameOnes(Object[] was, Object[] now) {
        Set<Object> old = Collections.newSetFromMap(new IdentityHashMap<>());
        Collections.addAll(old, was);
        return was.length == now.length && Arrays.stream(now).allMatch(old::contains);
    }

    private static Map<Object, Object> pairs(Object[] contents) {
        Map<Object, Object> pairs = new LinkedHashMap<>();
        for (int at = 0; at < contents.length; at += 2) {
            pairs.put(contents[at], contents[at + 1]);
        }
        return pairs;
    }

    @SuppressWarnings("unchecked")
    private static Map<Object, Object> castMap(Object it) {
        return (Map<Object, Object>) it;
    }

    @SuppressWarnings("unchecked")
    private static Collection<Object> castCollection(Object it) {
        return (Collection<Object>) it;
    }

    @SuppressWarnings("unchecked")
    private static List<Object> castList(Object it) {
        return (List<Object>) it;
    }
}
