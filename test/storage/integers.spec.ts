import { expect } from 'chai'
import {
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type DatabaseConnection,
} from 'kysely'
import { integersPlugin } from '../../src/storage/integers.ts'
import { StoreError } from '../../src/storage/store-error.ts'
import type { Tables } from '../../src/storage/tables.ts'

/** A database whose driver returns 64-bit integers as texts, as PostgreSQL's does. */
function databaseOf(rows: object[]): Kysely<Tables> {
  const connection = { executeQuery: async () => ({ rows }) } as unknown as DatabaseConnection
  class Driver extends DummyDriver {
    override acquireConnection = async () => connection
  }
  return new Kysely<Tables>({
    dialect: {
      createDriver: () => new Driver(),
      createAdapter: () => new PostgresAdapter(),
      createIntrospector: (db) => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
    plugins: [integersPlugin],
  })
}

describe('integers that a driver reads as text', () => {
  it('become numbers; digits in text columns stay texts', async () => {
    const row = { id: '7', name: '12', created_at: '1800000000000', revoked_at: null, at: 5n }
    const db = databaseOf([row])
    expect(await db.selectFrom('api_keys').selectAll().execute()).to.deep.equal([
      { ...row, created_at: 1_800_000_000_000, at: 5 },
    ])
  })

  for (const text of ['9007199254740993', '1.5', 'many']) {
    it(`are refused rather than rounded: ${text}`, async () => {
      const db = databaseOf([{ cost_nano_usd: text }])
      const error = await db
        .selectFrom('usage')
        .selectAll()
        .execute()
        .catch((thrown: unknown) => thrown)
      expect(error).to.be.instanceOf(StoreError)
      expect((error as Error).message)
        .to.include('cost_nano_usd')
        .and.to.include(text)
    })
  }
})
