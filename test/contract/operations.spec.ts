import { expect } from 'chai'
import { examplesIn, ownOperations, resolve, type ResponseObject } from '../support/contract.ts'
import { answered, answeredBodies, answeredErrors, formOf } from './promised.ts'
// Imported into one process, because the last test reads the statuses that these tests saw.
import './operations.ts'
import './administration.ts'
import './in-trouble.ts'
import './permissions.ts'
import './other-origins.ts'

// A store that fails answers links to pictures with 503, since no key has been read before. A challenge needs the store
// only while passwords may be closed.
const unseen = new Set(['retrieveImageFile 500', 'startPasskeySession 500'])

describe('every status that the contract lists', () => {
  it('occurs in a test', () => {
    const listed = ownOperations.flatMap(({ operationId, responses }) =>
      Object.keys(responses).map((status) => `${operationId} ${status}`),
    )
    expect(listed.filter((one) => !answered.has(one) && !unseen.has(one))).to.deep.equal([])
  })

  it('is answered with the members of its one example, if it is no error', () => {
    const wrong = ownOperations.flatMap(({ operationId, responses }) =>
      Object.entries(responses).flatMap(([status, response]) => {
        const where = `${operationId} ${status}`
        const media = resolve<ResponseObject>(response).content?.['application/json']
        const seen = answeredBodies.get(where)
        if (media === undefined || seen === undefined) return []
        // Named examples are sent, and compared with their answers, by examples.spec.ts.
        const lacking = seen.map((body) => lackingIn(body, media.example ?? null, where))
        // One of the answers has all that the example has.
        return lacking.toSorted((a, b) => a.length - b.length)[0] ?? []
      }),
    )
    expect(wrong).to.deep.equal([])
  })

  it('is answered with its examples, if it is an error', () => {
    const wrong = ownOperations.flatMap(({ operationId, responses }) =>
      Object.entries(responses).flatMap(([status, response]) => {
        const where = `${operationId} ${status}`
        const media = resolve<ResponseObject>(response).content?.['application/json']
        if (Number(status) < 400 || media === undefined || unseen.has(where)) return []
        const seen = [...(answeredErrors.get(where) ?? [])]
        return examplesIn(media)
          .map((example) => formOf(JSON.stringify(example)))
          .filter((form) => !seen.includes(form))
          .map((form) => `${where}: ${form} is not among ${seen.join(' ')}`)
      }),
    )
    expect(wrong.join('\n')).to.equal('')
  })
})

/** The members of an example that an answer lacks, or has in another type; null stands for any. */
function lackingIn(answer: unknown, example: unknown, where: string): string[] {
  if (answer === null || example === null) return []
  if (Array.isArray(example) && Array.isArray(answer)) {
    const [item] = example as unknown[]
    const found = (answer as unknown[]).map((one) => lackingIn(one, item, `${where}[]`))
    return item === undefined ? [] : (found.toSorted((a, b) => a.length - b.length)[0] ?? [])
  }
  if (typeof answer !== typeof example || Array.isArray(answer)) return [where]
  // What an act changed has other members for each act.
  if (typeof example !== 'object' || where.endsWith('.after')) return []
  const members = Object(answer) as Record<string, unknown>
  return Object.entries(example).flatMap(([name, value]) =>
    name in members ? lackingIn(members[name], value, `${where}.${name}`) : [`${where}.${name}`],
  )
}
