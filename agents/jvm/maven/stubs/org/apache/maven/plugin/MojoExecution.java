package org.apache.maven.plugin;

/** The used part of Maven's declaration; compiled against, not packaged. */
public class MojoExecution {
    public String getArtifactId() {
        return null;
    }

    public String getVersion() {
        return null;
    }

    public String getGoal() {
        return null;
    }

    public String getExecutionId() {
        return null;
    }

    public String getLifecyclePhase() {
        return null;
    }
}
