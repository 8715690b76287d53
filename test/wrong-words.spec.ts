import { join } from 'node:path'
import { expect } from 'chai'
import { makeFolder } from './support/folder.ts'
import { runProgram, type Ended } from './support/program.ts'

type Wrong = { words: string; says: RegExp; dataDir?: string }

const wrong: Wrong[] = [
  { words: 'keys make', says: /There is no command 'keys make'.*Usage:/s },
  { words: 'frobnicate', says: /There is no command 'frobnicate'.*Usage:/s },
  { words: 'keys create --name mine', says: /--mode test or --mode live/ },
  { words: 'keys create --mode prod --name mine', says: /--mode test or --mode live/ },
  { words: 'keys create --mode test', says: /--name/ },
  { words: 'keys create --mode test --name mine --colour red', says: /--colour/ },
  { words: 'keys create --mode test --name mine --expires-in-days soon', says: /above 0/ },
  { words: 'keys create --mode test --name mine --expires-in-days 0', says: /above 0/ },
  {
    words: 'keys create --mode test --name mine --models gpt5.2',
    says: /no model 'gpt5\.2'\. Did you mean 'gpt-5\.2'\?/,
  },
  {
    words: 'keys create --mode test --name mine --models gpt-5.2,,gpt-5.5',
    says: /a name is empty/,
  },
  {
    words: 'keys create --mode test --name mine --models nobody/gpt-5.2-turbo',
    says: /no model 'nobody\/gpt-5\.2-turbo'/,
  },
  ...['Infinity', '1e3', '36501', '-1'].map((days) => ({
    words: `keys create --mode test --name mine --expires-in-days=${days}`,
    says: /above 0, at most 36500/,
  })),
  {
    words: 'keys create --mode test --name mine --expire-in-days 3',
    says: /Did you mean '--expires-in-days'\?/,
  },
  { words: `keys create --mode test --name ${'x'.repeat(101)}`, says: /at most 100 characters/ },
  { words: 'keys revoke --csv', says: /--csv/ },
  { words: 'keys revoke', says: /keys list/ },
  // The others may make a store in theirs.
  { words: 'keys revoke key_nosuch', says: /no store in .* yet/, dataDir: 'none' },
]
describe('wrong words on the command line', () => {
  const ended = new Map<string, Ended>()
  before(async function () {
    // Some twenty starts, on a machine that has more to do.
    this.timeout(60_000)
    const { path, remove } = makeFolder()
    // All at once: it is the starts that take time.
    await Promise.all(
      wrong.map(async ({ words, dataDir = 'data' }) => {
        const options = { folder: path, variables: { DATA_DIR: join(path, dataDir) } }
        ended.set(words, await runProgram('src/command-line.ts', words.split(' '), options))
      }),
    )
    remove()
  })

  for (const { words, says } of wrong) {
    it(`${words}: ends with 2 and says what to do`, () => {
      const { code, stdout, stderr } = ended.get(words)!
      expect({ code, stdout }, stderr).to.deep.equal({ code: 2, stdout: '' })
      expect(stderr).to.match(says)
      expect(stderr).to.not.match(/^\s+at /m)
    })
  }
})
