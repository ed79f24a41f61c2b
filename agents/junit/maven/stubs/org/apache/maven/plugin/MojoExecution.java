package org.apache.maven.plugin;

/** As Maven declares it, as far as it is used; not part of what is packed. */
public class MojoExecution {
    public String getArtifactId() {
        return null;
    }

    public String getGoal() {
        return null;
    }

    public String getExecutionId() {
        return null;
    }
}
