import { expect } from 'chai'
import { runCommand } from './support/command-line.ts'
import { makeFolder, type TemporaryFolder } from './support/folder.ts'

type Wrong = { words: string; says: RegExp }

const wrong: Wrong[] = [
  { words: 'keys make', says: /Unknown command 'keys make'\. Did you mean 'keys'\?/ },
  { words: 'frobnicate', says: /Unknown command 'frobnicate'\. `.* help` lists/ },
  { words: 'keys creat --mode test', says: /Did you mean 'keys create'\?/ },
  { words: 'account list', says: /Did you mean 'accounts list'\?/ },
  { words: 'keys create --name mine', says: /--mode must be test or live/ },
  { words: 'keys create --mode prod --name mine', says: /--mode must be test or live/ },
  { words: 'keys create --mode test', says: /--name/ },
  { words: 'keys create --mode test --name mine --colour red', says: /--colour/ },
  { words: 'keys create --mode test --name mine --expires-in-days soon', says: /above 0/ },
  { words: 'keys create --mode test --name mine --expires-in-days 0', says: /above 0/ },
  {
    words: 'keys create --mode test --name mine --models gpt5.2',
    says: /model 'gpt5\.2' does not exist\. Did you mean 'gpt-5\.2'\?/,
  },
  {
    words: 'keys create --mode test --name mine --models gpt-5.2,,gpt-5.5',
    says: /has an empty item/,
  },
  {
    words: 'keys create --mode test --name mine --models nobody/gpt-5.2-turbo',
    says: /model 'nobody\/gpt-5\.2-turbo' does not exist/,
  },
  ...['Infinity', '1e3', '36501', '-1'].map((days) => ({
    words: `keys create --mode test --name mine --expires-in-days=${days}`,
    says: /above 0 and at most 36500/,
  })),
  {
    words: 'keys create --mode test --name mine --expire-in-days 3',
    says: /Did you mean '--expires-in-days'\?/,
  },
  { words: `keys create --mode test --name ${'x'.repeat(101)}`, says: /at most 100 characters/ },
  { words: 'keys revoke --csv', says: /--csv/ },
  { words: 'keys revoke', says: /keys list/ },
  { words: 'keys revoke key_nosuch', says: /No store exists in/ },
]
describe('wrong words on the command line', () => {
  let folder: TemporaryFolder
  beforeEach(() => (folder = makeFolder()))
  afterEach(() => folder.remove())

  for (const { words, says } of wrong) {
    it(`${words}: ends with 2 and says what to do`, async () => {
      const { code, stdout, stderr } = await runCommand(words.split(' '), { DATA_DIR: folder.path })
      expect({ code, stdout }, stderr).to.deep.equal({ code: 2, stdout: '' })
      expect(stderr).to.match(says)
      expect(stderr).to.not.match(/^\s+at /m)
    })
  }
})
