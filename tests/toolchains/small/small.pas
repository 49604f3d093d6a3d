{ SPDX-License-Identifier: GPL-2.0-or-later }
unit small;
interface
function Every(N: Integer): Integer;
implementation
function Area(Side, Scale: Integer): Integer;
begin
  Area := Side * Scale * Side;
end;
function Every(N: Integer): Integer;
begin
  Every := Area(N, 3) + Area(3, N);
end;
end.
