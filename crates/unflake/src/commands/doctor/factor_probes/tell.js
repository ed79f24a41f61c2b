// Tells one fact of the world it runs in: `unflake doctor --factors` asks.
const fs = require('fs'), net = require('net'), os = require('os');
const tell = (text) => { console.log(String(text)); process.exit(0); };
const now = () => Number(process.hrtime.bigint() / 1000000n);
const [word, place] = process.argv.slice(2);
({
  date: () => tell(Math.floor(Date.now() / 1000)),
  sleep: () => {
    const began = now(), day = Date.now();
    setTimeout(() => tell(`${now() - began} ${Date.now() - day}`), 4000);
  },
  zone: () => tell(-60 * new Date(1800000000000).getTimezoneOffset()),
  locale: () => tell(Intl.DateTimeFormat().resolvedOptions().locale),
  hash: () => tell('nothing'), // Maps and objects keep the order in which they were filled.
  random: () => tell(require('crypto').randomBytes(8).toString('hex')),
  cores: () => tell(os.availableParallelism ? os.availableParallelism() : os.cpus().length),
  busy: () => {
    let count = 0;
    for (const end = now() + 400; now() < end;) count++;
    tell(count);
  },
  memory: () => {
    const kept = [];
    try {
      for (let i = 0; i < 4; i++) kept.push(new ArrayBuffer(2 ** 30));
    } catch { tell('refused'); }
    tell('given');
  },
  files: () => {
    try {
      for (let i = 0; i < 100; i++) fs.openSync('/dev/null');
    } catch { tell('refused'); }
    tell('given');
  },
  sleeps: () => {
    const began = now();
    let left = 20;
    const next = () => (left-- > 0 ? setTimeout(next, 1) : tell(now() - began));
    next();
  },
  connect: () => {
    const socket = net.connect({ host: '192.0.2.1', port: 9 });
    socket.on('error', (error) => tell(error.code === 'ENETUNREACH' ? 'unreachable' : error.code));
    socket.on('connect', () => tell('connected'));
    setTimeout(() => tell('timed out'), 1000);
  },
  echo: () => {
    const began = now();
    const server = net.createServer((client) => client.end('x'));
    server.listen(0, '127.0.0.1', () => {
      net.connect(server.address().port, '127.0.0.1').on('data', () => tell(now() - began));
    });
  },
  turns: () => tell('nothing'),
  addresses: () => tell('nothing'),
  listing: () => tell(fs.readdirSync(place).join(' ')),
  variable: () => tell(process.env.FACTOR_PROBE || ''),
  home: () => tell(os.homedir()),
})[word]();
