# TypeScript: vitest, the compiler and prettier, from npm.
printf '{"name":"m","version":"1.0.0","type":"module"}' > package.json; printf 'node_modules\n' > .gitignore
npm install --silent --no-fund --no-audit vitest@2 typescript@5 prettier@3
printf 'export const sum=(a:number,b:number):number=>a+b\n' > sum.ts
printf 'import {test,expect} from "vitest"\nimport {sum} from "./sum"\ntest("sums",()=>expect(sum(40,2)).toBe(42))\n' > sum.test.ts
printf '{"compilerOptions":{"strict":true,"module":"nodenext","outDir":"out"},"files":["sum.ts"]}' > tsconfig.json
#run
npx vitest run 2>&1 | grep -oE 'Tests.*[0-9] passed' | grep -oE '[0-9] passed'
npx tsc && node -e 'import("./out/sum.js").then(m => console.log(m.sum(1, 2)))' && npx prettier --write sum.ts > /dev/null && cat sum.ts
