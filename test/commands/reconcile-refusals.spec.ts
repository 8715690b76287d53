import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command-line.ts'
import { makeFolder, type TemporaryFolder } from '../support/folder.ts'
import { openTestStore } from '../support/store.ts'

describe('the command reconcile refuses', () => {
  let folder: TemporaryFolder
  let file: string
  before(async () => {
    folder = makeFolder()
    file = join(folder.path, 'costs.csv')
    await (await openTestStore(folder.path)).close()
  })
  after(() => folder.remove())

  const run = (content: string) => {
    writeFileSync(file, content)
    return runCommand(['reconcile', file], { DATA_DIR: folder.path })
  }

  const head = 'start_time,amount_value,amount_currency,line_item\n'
  const wrong: [what: string, content: string, message: RegExp][] = [
    [
      'an amount',
      `${head}1759276800,1,usd,a\n1759276800,"1,50",usd,a\n`,
      /^Line 3, column amount_value: "1,50" is no amount\.\n$/,
    ],
    [
      'a day',
      `${head}2026-02-30,1,usd,a\n`,
      /^Line 2, column start_time: "2026-02-30" is no day\./,
    ],
    [
      'another currency',
      `${head}1759276800,1,eur,a\n`,
      /^Line 2, column amount_currency: "eur" is not USD/,
    ],
    ['too few columns', `${head}1759276800,1\n`, /^Line 2, column \w+: invalid record length\./],
    [
      'an open quotation mark',
      `${head}1759276800,1,usd,"a\nb\n`,
      /^Line 3, column line_item: quote not closed\./,
    ],
    [
      'a line break in a name',
      `${head}1759276800,1,usd,"a\nb"\nx,1,usd,a\n`,
      /^Line 4, column start_time: "x" is no day\./,
    ],
    [
      'an export of usage',
      'start_time,model,input_tokens\n1759276800,a,1\n',
      /^Line 2, column amount_value: this column is missing\. It must be a cost export/,
    ],
    [
      'another table',
      'a,b\n1,2\n',
      /^Line 2, column start_time, usage_date_utc, starting_at: none of these columns exists/,
    ],
    ['no row', head, /^Line 1, column any: there are no rows/],
    ['no text', '', /^Line 1, column any: there are no rows/],
    ['broken JSON', '{"data": [', /^The file, column any: it is not JSON: /],
    [
      'JSON without an amount',
      '{"data":[{"start_time":1759276800,"results":[{"line_item":"a"}]}]}',
      /^data\[0\]\.results\[0\], column amount_value: this column is missing/,
    ],
    [
      'years',
      `${head}1500000000,1,usd,a\n1759276800,1,usd,a\n`,
      /^The export is from 2017-07-14 to 2025-10-01, more than 400 days\./,
    ],
    [
      'an exponent of thousands',
      `${head}1759276800,1e6176,usd,a\n`,
      /^Line 2, column amount_value: "1e6176" is no/,
    ],
    [
      'a huge number',
      `${head}1759276800,${'9'.repeat(60)},usd,a\n`,
      /^Line 2, column amount_value: "9{40}…" is no amount/,
    ],
  ]
  for (const [what, content, message] of wrong)
    it(`${what}, with line and column`, async () => {
      const { code, stdout, stderr } = await run(content)
      expect(stderr).to.match(message)
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
    })

  it('missing and wrong arguments, missing files and files that are too large', async () => {
    const each: [words: string[], message: RegExp][] = [
      [[], /^The file is missing\. Usage: reconcile <file>/],
      [['/none.csv'], /^\/none\.csv cannot be read: it does not exist\./],
      [[folder.path], /cannot be read: it is a folder\./],
      [['/dev/zero'], /^\/dev\/zero has more than 33554432 bytes\./],
      [[file, '--tolerance-usd', 'much'], /^The tolerance must be an amount in dollars/],
      [[file, '--tolerance-usd=-1'], /^The tolerance must be an amount in dollars/],
    ]
    writeFileSync(file, head)
    for (const [words, message] of each) {
      const { code, stderr } = await runCommand(['reconcile', ...words], { DATA_DIR: folder.path })
      expect(stderr).to.match(message)
      expect(code).to.equal(2)
    }
    const { stderr } = await run('a'.repeat(32 * 1024 * 1024 + 1))
    expect(stderr).to.match(/has more than 33554432 bytes\. Export fewer days\./)
    const many = await run(head + '1759276800,1,usd,a\n'.repeat(200_001))
    expect(many.stderr).to.match(/^Line 200002, column start_time: there are more than 200000 rows/)
  })
})
