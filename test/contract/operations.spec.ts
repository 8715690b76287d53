import { expect } from 'chai'
import { examplesIn, ownOperations, resolve, type ResponseObject } from '../support/contract.ts'
import { answered, answeredErrors, formOf } from './promised.ts'
// Imported into one process, because the last test reads the statuses that these tests saw.
import './operations.ts'
import './administration.ts'
import './in-trouble.ts'
import './permissions.ts'
import './other-origins.ts'

// A store that fails answers links to pictures with 503, since no key has been read before.
const unseen = new Set(['retrieveImageFile 500'])

describe('every status that the contract lists', () => {
  it('occurs in a test', () => {
    const listed = ownOperations.flatMap(({ operationId, responses }) =>
      Object.keys(responses).map((status) => `${operationId} ${status}`),
    )
    expect(listed.filter((one) => !answered.has(one) && !unseen.has(one))).to.deep.equal([])
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
