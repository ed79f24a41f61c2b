package org.apache.maven.project;

import java.io.File;
import java.util.List;

/** The used part of Maven's declaration; compiled against, not packaged. */
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
