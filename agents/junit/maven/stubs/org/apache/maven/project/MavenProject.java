package org.apache.maven.project;

import java.io.File;
import java.util.List;

/** As Maven declares it, as far as it is used; not part of what is packed. */
public class MavenProject {
    public String getArtifactId() {
        return null;
    }

    public File getBasedir() {
        return null;
    }

    public List<String> getTestCompileSourceRoots() {
        return null;
    }

    public List<String> getCompileSourceRoots() {
        return null;
    }
}
