import { expect } from 'chai'
import { vendors, vendorOf } from '../../src/providers/index.ts'
import { checkKeys } from '../../src/providers/key-shape.ts'

type Finding = 'wrong' | 'doubtful' | 'good'

const check = (id: string, key: string, isOwnAddress = true) => {
  const vendor = vendorOf(id)!
  const [variable] = vendor.keyVariables
  return checkKeys({ vendor, variable: variable!, keys: [key], isOwnAddress }, vendors)
}
const long = '0123456789abcdefghij'

describe('a key of a vendor, before it is used', () => {
  const rows: [id: string, key: string, finding: Finding, says?: string][] = [
    ['openai', `sk-proj-${long}`, 'good'],
    ['openai', 'hello', 'wrong', 'too short'],
    ['openai', `"sk-proj-${long}"`, 'wrong', 'in quotes'],
    ['openai', `\u201csk-proj-${long}\u201d`, 'wrong', 'in quotes'],
    ['openai', `sk-proj ${long}`, 'wrong', 'a blank'],
    ['openai', `sk-proj-\n${long}`, 'wrong', 'a line break'],
    ['openai', `sk-prój-${long}`, 'wrong', 'another invalid character'],
    ['openai', 'your-api-key-here', 'wrong', 'placeholder'],
    ['openai', 'YOUR_OPENAI_KEY', 'wrong', 'placeholder'],
    ['openai', 'sk-...', 'wrong', 'placeholder'],
    ['openai', 'sk-\u2026', 'wrong', 'placeholder'],
    ['openai', '$OPENAI_API_KEY', 'wrong', 'placeholder'],
    ['openai', '<insert key here>', 'wrong', 'blank'],
    ['openai', '<your-key>', 'wrong', 'placeholder'],
    ['openai', 'xxxxxxxxxxxxxxxx', 'wrong', 'placeholder'],
    ['openai', `sk-ant-api03-${long}`, 'wrong', 'holds a key of Anthropic'],
    ['openai', `sk-or-v1-${long}`, 'wrong', 'holds a key of OpenRouter'],
    ['openai', `gsk_${long}`, 'wrong', 'holds a key of Groq'],
    ['openai', long, 'doubtful', 'usually begin with sk-'],
    ['anthropic', `sk-ant-api03-${long}`, 'good'],
    ['anthropic', `sk-proj-${long}`, 'wrong', 'Set it to a key of Anthropic'],
    ['xai', `gsk_${long}`, 'wrong', 'holds a key of Groq'],
    ['google', `AIza${long}`, 'good'],
    ['google', `sk-${long}`, 'wrong', 'Set it to a key of Google Gemini'],
    ['deepseek', `sk-${long}`, 'good'],
    ['mistral', long, 'good'],
    ['mistral', `xai-${long}`, 'wrong', 'holds a key of xAI'],
    ['zai', `${long}.${long}`, 'good'],
  ]
  for (const [id, key, finding, says = ''] of rows) {
    it(`of ${id} is ${finding}: ${JSON.stringify(key)}`, () => {
      const { wrong, doubtful } = check(id, key)
      const found = wrong.length > 0 ? 'wrong' : doubtful.length > 0 ? 'doubtful' : 'good'
      expect(found).to.equal(finding)
      const [message = ''] = [...wrong, ...doubtful]
      expect(message).to.include(says)
      if (message !== '') expect(message).to.include(vendorOf(id)!.keyVariables[0])
      expect(message).to.not.include(long)
    })
  }

  it("is not checked when the address is not the vendor's", () => {
    for (const key of ['k', 'test', `gsk_${long}`, long]) {
      expect(check('openai', key, false)).to.deep.equal({ wrong: [], doubtful: [] })
    }
    expect(check('openai', '"k"', false).wrong).to.have.length(1)
  })
})
