import { expect } from 'chai'
import { ownOperations } from '../support/contract.ts'
import { answered } from './promised.ts'
// Imported into one process, because the last test reads the statuses that these tests saw.
import './operations.ts'
import './administration.ts'
import './in-trouble.ts'
import './permissions.ts'
import './other-origins.ts'

describe('every status that the contract lists', () => {
  it('occurs in a test', () => {
    const listed = ownOperations.flatMap(({ operationId, responses }) =>
      Object.keys(responses).map((status) => `${operationId} ${status}`),
    )
    // A store that fails answers links to pictures with 503, since no key has been read before.
    const unseen = new Set(['retrieveImageFile 500'])
    expect(listed.filter((one) => !answered.has(one) && !unseen.has(one))).to.deep.equal([])
  })
})
