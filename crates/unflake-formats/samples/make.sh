#!/usr/bin/env bash
# Recreates the samples in this directory with the real runners, in a temporary directory: `make.sh [NAME…]`.
# Needs python3, cargo and cargo-nextest, Maven with a JDK, Gradle, npm, g++ with GoogleTest, go. Where one of them is missing, its samples stay as they are.
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
wanted() { [ -z "$names" ] || [[ " $names " == *" $1 "* ]]; }
names="$*"
# Removes paths and host names from the reports.
keep() { sed -e "s#$work#/home/ann#g; s#/private/tmp#/tmp#g; s#hostname=\"[^\"]*\"#hostname=\"machine\"#g; s#${HOME}/[^\" ]*/lib/#/usr/lib/#g; s#\(\"os[RV][a-z]*\": \"\)[^\"]*#\1some#" "$1" > "$here/$2" && echo "made $2"; }

if wanted pytest; then
  python3 -m venv venv && venv/bin/pip -q install pytest pytest-rerunfailures pytest-reportlog pytest-json-ctrf
  mkdir -p shop/tests && cat > shop/tests/test_cart.py <<'P'
import os, unittest, pytest

def test_sum(): print("sums up"); assert 1 + 1 == 2
def test_price(): assert 2 == 3, "a <price> & more"
@pytest.mark.parametrize("n", ["a.b", "c d"])
def test_each(n): pass
@pytest.mark.skip(reason="not here")
def test_skipped(): pass
@pytest.mark.xfail(reason="known")
def test_known(): assert False
@pytest.fixture
def disk(): raise OSError("no disk")
def test_setup(disk): pass
def test_flaky():
    first = not os.path.exists("mark"); open("mark", "w"); assert not first, "the first time"
class TestCart:
    def test_total(self): pass
class Old(unittest.TestCase):
    def test_old(self): self.fail("old")
P
  cd shop
  ../venv/bin/pytest -q --junit-xml=../x2.xml tests; rm -f mark
  ../venv/bin/pytest -q -o junit_family=xunit1 --junit-xml=../x1.xml tests; rm -f mark
  ../venv/bin/pytest -q --reruns 2 --junit-xml=../rerun.xml --report-log=../log.jsonl tests; rm -f mark
  ../venv/bin/pytest -q --ctrf=../ctrf.json tests
  cd ..
  keep x2.xml pytest-xunit2.xml; keep x1.xml pytest-xunit1.xml; keep rerun.xml pytest-rerunfailures.xml
  keep log.jsonl pytest-reportlog.jsonl; keep ctrf.json pytest-ctrf.json
fi

if wanted nextest; then
  cargo -q new --lib shop-rs && cd shop-rs && cat > src/lib.rs <<'P'
#[cfg(test)]
mod cart {
    #[test] fn sums() { println!("sums up"); assert_eq!(1 + 1, 2); }
    #[test] fn price() { assert_eq!(2, 3, "a <price>"); }
    #[test] #[ignore] fn ignored() {}
    #[test] fn flaky() { let first = !std::path::Path::new("mark").exists(); std::fs::write("mark", "").unwrap(); assert!(!first, "the first time"); }
}
P
  mkdir -p .config && printf '[profile.default.junit]\npath = "junit.xml"\n' > .config/nextest.toml
  cargo nextest run --no-fail-fast --retries 2; cp target/nextest/default/junit.xml ../nextest.xml; rm -f mark
  NEXTEST_EXPERIMENTAL_LIBTEST_JSON=1 cargo nextest run --no-fail-fast --retries 2 --message-format libtest-json > ../libtest.json; rm -f mark
  RUST_BACKTRACE=0 cargo nextest run --no-fail-fast --stress-count 2 2>/dev/null && true; cp target/nextest/default/junit.xml ../stress.xml; cd ..
  (cd shop-rs && rm -f mark && RUST_BACKTRACE=0 NEXTEST_EXPERIMENTAL_LIBTEST_JSON=1 cargo nextest run --no-fail-fast --stress-count 2 --message-format libtest-json 2>/dev/null > ../stress.json)
  keep nextest.xml nextest-retries.xml; keep libtest.json nextest-libtest.jsonl; grep -q stress stress.xml && keep stress.xml nextest-stress.xml && keep stress.json nextest-stress.jsonl
fi

if wanted gtest; then
  cat > shop.cc <<'P'
#include <gtest/gtest.h>
TEST(Cart, Sums) { EXPECT_EQ(1 + 1, 2); }
TEST(Cart, Price) { EXPECT_EQ(2, 3) << "a <price>"; EXPECT_TRUE(false); }
TEST(Cart, Skipped) { GTEST_SKIP() << "not here"; }
TEST(Cart, DISABLED_Later) {}
class Each : public testing::TestWithParam<int> {};
TEST_P(Each, Number) { EXPECT_GT(GetParam(), 0); }
INSTANTIATE_TEST_SUITE_P(Some, Each, testing::Values(1, 2));
P
  g++ -o shop-cc shop.cc -lgtest -lgtest_main -lpthread && ./shop-cc --gtest_output=xml:gtest.xml; keep gtest.xml gtest.xml
fi

if wanted gradle; then
  mkdir -p shop-gradle/src/test/java/shop && cd shop-gradle
  # Debian's Gradle is old and finds nothing by itself: JUnit 4 as Maven has it.
  jars=$(find ~/.m2 -name 'junit-4*.jar' -o -name 'hamcrest-core-1.3.jar' | sed "s/.*/'&'/" | paste -sd,)
  printf "apply plugin: 'java'\ndependencies { testCompile files(%s) }\ntest { ignoreFailures = true }\n" "$jars" > build.gradle
  cat > src/test/java/shop/CartTest.java <<'P'
package shop;
import org.junit.*;
import java.io.*;
public class CartTest {
    @Test public void sums() { System.out.println("sums up"); Assert.assertEquals(2, 1 + 1); }
    @Test public void price() { Assert.assertEquals("a <price>", 3, 2); }
    @Test public void broken() { throw new IllegalStateException("no disk"); }
    @Ignore("not here") @Test public void skipped() {}
}
P
  gradle -q --offline --no-daemon test; cd ..
  keep shop-gradle/build/test-results/test/TEST-shop.CartTest.xml gradle.xml
fi

if wanted surefire; then
  mkdir -p shop-java/src/test/java/shop && cd shop-java && cat > pom.xml <<'P'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>shop</groupId><artifactId>shop</artifactId><version>1</version>
<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.11.4</version><scope>test</scope></dependency></dependencies>
<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><version>3.5.2</version><configuration><rerunFailingTestsCount>2</rerunFailingTestsCount></configuration></plugin></plugins></build></project>
P
  cat > src/test/java/shop/ShopTest.java <<'P'
package shop;
import static org.junit.jupiter.api.Assertions.*;
import org.junit.jupiter.api.*;
class ShopTest {
  static int times;
  @Test void sums() { System.out.println("sums up"); assertEquals(2, 1 + 1); }
  @Test void price() { assertEquals(3, 2, "a <price>"); }
  @Test void broken() { throw new IllegalStateException("no disk"); }
  @Test @Disabled("not here") void skipped() {}
  @Test void flaky() { assertTrue(times++ > 0, "the first time"); }
}
P
  mvn -q -B test; cd ..
  # Properties tell all of the machine, and no test.
  python3 - shop-java/target/surefire-reports/TEST-shop.ShopTest.xml surefire.xml <<'P'
import re, sys
text = open(sys.argv[1]).read()
open(sys.argv[2], "w").write(re.sub(r"<properties>.*?</properties>", "<properties/>", text, flags=re.S))
P
  keep surefire.xml surefire-reruns.xml
fi

if wanted javascript; then
  mkdir -p shop-js && cd shop-js && npm init -y >/dev/null
  npm install --silent --no-audit --no-fund jest@29 jest-junit vitest@3 @playwright/test jest-ctrf-json-reporter
  cat > cart.test.js <<'P'
let times = 0;
describe("cart", () => {
  test("sums", () => { expect(1 + 1).toBe(2); });
  test("price <a>", () => { expect(2).toBe(3); });
  test.skip("skipped", () => {});
  test("flaky", () => { expect(times++).toBeGreaterThan(0); });
});
P
  npx jest --retries 2>/dev/null; npx jest --reporters=default --reporters=jest-junit; cp junit.xml ../jest.xml
  npx jest --reporters=default --reporters=jest-ctrf-json-reporter; cp ctrf/*.json ../jest-ctrf.json
  npx vitest run --globals --retry 2 --reporter=junit --outputFile=../vitest.xml
  mkdir -p pw && cat > pw/cart.spec.js <<'P'
const { test, expect } = require("@playwright/test");
test.describe("cart", () => {
  test("sums", () => { expect(1 + 1).toBe(2); });
  test("price <a>", () => { expect(2).toBe(3); });
  test.skip("skipped", () => {});
  test("flaky", ({}, info) => { expect(info.retry).toBeGreaterThan(0); });
});
P
  PLAYWRIGHT_JUNIT_OUTPUT_NAME=../playwright.xml npx playwright test pw --retries=2 --reporter=junit; [ -f pw/../../playwright.xml ] || cp playwright.xml ../ 2>/dev/null
  cd ..
  for one in jest:jest-junit.xml vitest:vitest-retry.xml playwright:playwright-retries.xml; do [ -f "${one%%:*}.xml" ] && keep "${one%%:*}.xml" "${one#*:}"; done
  [ -f jest-ctrf.json ] && keep jest-ctrf.json jest-ctrf.json
fi

if wanted go; then
  mkdir shop-go && cd shop-go && printf 'module example.com/shop\ngo 1.21\n' > go.mod && cat > shop_test.go <<'P'
package shop
import ("os"; "testing")
func TestSums(t *testing.T) {}
func TestPrice(t *testing.T) { t.Errorf("got %d, want 3", 2) }
func TestSkipped(t *testing.T) { t.Skip("not here") }
func TestTable(t *testing.T) { t.Run("one two", func(t *testing.T) {}) }
func TestFlaky(t *testing.T) { if _, err := os.Stat("mark"); err != nil { os.WriteFile("mark", nil, 0o644); t.Fatal("the first time") } }
P
  gotestsum --rerun-fails=2 --packages=./... --junitfile=../gotestsum.xml >/dev/null 2>&1; rm -f mark
  go test -v ./... 2>&1 | go run github.com/jstemmer/go-junit-report/v2@v2.1.0 > ../go-junit-report.xml; cd ..
  [ -s gotestsum.xml ] && keep gotestsum.xml gotestsum-rerun.xml; [ -s go-junit-report.xml ] && keep go-junit-report.xml go-junit-report.xml
fi
