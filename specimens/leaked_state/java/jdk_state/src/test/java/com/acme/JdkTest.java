package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.management.ManagementFactory;
import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.CookieManager;
import java.net.HttpURLConnection;
import java.net.ProxySelector;
import java.security.Provider;
import java.security.Security;
import java.sql.DriverManager;
import javax.management.ObjectName;
import javax.management.StandardMBean;
import org.junit.jupiter.api.Test;

/** Each test leaves something behind in the JDK. */
class JdkTest {
    static final class Noop extends Provider {
        Noop() {
            super("Noop", 1.0, "does nothing");
        }
    }

    @Test
    void property() {
        assertNull(System.getProperty("acme.region"));
        System.setProperty("acme.region", "north");
    }

    @Test
    void provider() {
        assertNull(Security.getProvider("Noop"));
        Security.addProvider(new Noop());
    }

    @Test
    void securityProperty() {
        assertNotEquals("7", Security.getProperty("networkaddress.cache.ttl"));
        Security.setProperty("networkaddress.cache.ttl", "7");
    }

    @Test
    void loginTimeout() {
        assertEquals(0, DriverManager.getLoginTimeout());
        DriverManager.setLoginTimeout(7);
    }

    @Test
    void logWriter() {
        assertNull(DriverManager.getLogWriter());
        DriverManager.setLogWriter(new PrintWriter(new StringWriter()));
    }

    @Test
    void exceptionHandler() {
        assertNull(Thread.getDefaultUncaughtExceptionHandler());
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> { });
    }

    @Test
    void redirects() {
        assertTrue(HttpURLConnection.getFollowRedirects());
        HttpURLConnection.setFollowRedirects(false);
    }

    @Test
    void cookies() {
        assertNull(CookieHandler.getDefault());
        CookieHandler.setDefault(new CookieManager());
    }

    @Test
    void proxies() {
        assertFalse(ProxySelector.getDefault() == null);
        ProxySelector.setDefault(null);
    }

    @Test
    void bean() throws Exception {
        ObjectName name = new ObjectName("com.acme:type=Till");
        StandardMBean bean = new StandardMBean(() -> { }, Runnable.class);
        ManagementFactory.getPlatformMBeanServer().registerMBean(bean, name);
    }
}
